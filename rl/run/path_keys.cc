#include "rl/run/path_keys.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/status/check.h"
#include "rl/run/workloads.h"
#include "rl/workload/external_file.h"
#include "rl/workloads/completions/data_file.h"

namespace reprise::rl {
namespace {

constexpr PathKey kShared[] = {
    {"model", "path", [](Config& config) -> std::string& { return config.model.path; },
     [](const Config&) -> std::vector<std::string> { return {"model/config.json"}; }, "--model", "model directory",
     "the run started from a model that is not stored in it; give its directory: --model DIR"},
    {"evaluation", "path", [](Config& config) -> std::string& { return config.evaluation.path; },
     [](const Config&) -> std::vector<std::string> { return {std::string(kHeldOutName)}; }, "--held-out",
     "file of held-out problems",
     "the run's held-out problems are in a file that is not stored in it; give its path: --held-out FILE"},
    {"data", "path", [](Config& config) -> std::string& { return config.data.path; },
     [](const Config&) -> std::vector<std::string> { return {std::string(kProblemsName)}; }, "--data",
     "file of problems", "the run's problems are in a file that is not stored in it; give its path: --data FILE"}};

}  // namespace

absl::Span<const PathKey> PathKeys() {
  static const auto& keys = *[] {
    auto* const all = new std::vector<PathKey>(std::begin(kShared), std::end(kShared));
    for (const WorkloadKind* kind : WorkloadKinds()) {
      all->insert(all->end(), kind->path_keys.begin(), kind->path_keys.end());
    }
    return all;
  }();
  return keys;
}

const PathKey& PathKeyForFlag(absl::string_view flag, const Config& config) {
  const auto has_flag = [&](const PathKey& key) { return key.flag == flag; };
  Config listed = config;
  config::FieldList list;
  Visit(list, listed);
  const auto is_read = [&](const PathKey& key) {
    return has_flag(key) && list.Find(key.section, key.key)->IsInScope();
  };
  const absl::Span<const PathKey> keys = PathKeys();
  auto found = std::find_if(keys.begin(), keys.end(), is_read);
  if (found == keys.end()) found = std::find_if(keys.begin(), keys.end(), has_flag);
  CHECK(found != keys.end());
  return *found;
}

const PathKey* FindPathKey(absl::string_view name) {
  for (const PathKey& key : PathKeys()) {
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
  for (const PathKey& key : PathKeys()) {
    std::string& path = key.path(config);
    if (!path.empty()) path = std::string(kExternal);
  }
  return config;
}

}  // namespace reprise::rl
