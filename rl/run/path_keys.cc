#include "rl/run/path_keys.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/status/check.h"
#include "rl/config/workload_traits.h"
#include "rl/workload/external_file.h"
#include "rl/workloads/completions/data_file.h"
#include "rl/workloads/morphogenesis/growth_examples.h"

namespace reprise::rl {
namespace {

constexpr PathKey kPathKeys[] = {
    {"model", "path", [](Config& config) -> std::string& { return config.model.path; },
     [](const Config&) -> std::vector<std::string> { return {"model/config.json"}; }, "--model", "model directory",
     "the run started from a model that is not stored in it; give its directory: --model DIR"},
    {"evaluation", "path", [](Config& config) -> std::string& { return config.evaluation.path; },
     [](const Config&) -> std::vector<std::string> { return {std::string(kHeldOutName)}; }, "--held-out",
     "file of held-out problems",
     "the run's held-out problems are in a file that is not stored in it; give its path: --held-out FILE"},
    {"data", "path", [](Config& config) -> std::string& { return config.data.path; },
     [](const Config&) -> std::vector<std::string> { return {std::string(kProblemsName)}; }, "--data",
     "file of problems", "the run's problems are in a file that is not stored in it; give its path: --data FILE"},
    {"morphogenesis", "data_path", [](Config& config) -> std::string& { return config.morphogenesis.data_path; },
     [](const Config& config) { return GrowthFileNames(config.morphogenesis); }, "--data",
     "examples from files, it generated them",
     "the examples of the run's hosts are in files that are not stored in it; give the folder of CIFAR-10, or the "
     "file of stories: --data PATH"}};

}  // namespace

absl::Span<const PathKey> PathKeys() { return kPathKeys; }

const PathKey& PathKeyOf(absl::string_view flag, const Config& config) {
  const auto has_flag = [&](const PathKey& key) { return key.flag == flag; };
  Config listed = config;
  config::FieldList list;
  Visit(list, listed);
  const auto is_read = [&](const PathKey& key) {
    return has_flag(key) && list.Find(key.section, key.key)->IsInScope();
  };
  const PathKey* found = std::find_if(std::begin(kPathKeys), std::end(kPathKeys), is_read);
  if (found == std::end(kPathKeys)) found = std::find_if(std::begin(kPathKeys), std::end(kPathKeys), has_flag);
  CHECK(found != std::end(kPathKeys));
  return *found;
}

const PathKey* FindPathKey(absl::string_view name) {
  for (const PathKey& key : kPathKeys) {
    if (name == absl::StrCat(key.section, ".", key.key)) return &key;
  }
  return nullptr;
}

std::string PathFrom(absl::string_view directory, absl::string_view path) {
  const bool is_placed =
      path.empty() || absl::StartsWith(path, "/") || absl::StrContains(path, "://") || CouldBeOfHub(directory, path);
  return is_placed ? std::string(path) : JoinPath(directory, path);
}

Config WithoutPaths(Config config) {
  for (const PathKey& key : kPathKeys) {
    std::string& path = key.path(config);
    if (!path.empty()) path = std::string(kExternal);
  }
  return config;
}

}  // namespace reprise::rl
