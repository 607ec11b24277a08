#include "rl/workload/external_file.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/io/file_system.h"

namespace reprise::rl {
namespace {

// Returns whether the path has the form OWNER/NAME, of letters, digits and -_. as on the Hub.
bool IsHubName(absl::string_view path) {
  const size_t slash = path.find('/');
  if (slash == absl::string_view::npos || slash == 0 || slash + 1 == path.size()) return false;
  const auto fits = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  };
  const absl::string_view owner = path.substr(0, slash), name = path.substr(slash + 1);
  return owner.front() != '.' && std::all_of(owner.begin(), owner.end(), fits) &&
         std::all_of(name.begin(), name.end(), fits);
}

// Returns whether the name ends like a file's: "train.jsonl", "run.h5", but not "Qwen2.5-0.5B".
bool HasSuffix(absl::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == absl::string_view::npos || dot + 1 == name.size()) return false;
  const absl::string_view suffix = name.substr(dot + 1);
  const auto fits = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); };
  return absl::ascii_isalpha(static_cast<unsigned char>(suffix.front())) && suffix.size() <= 11 &&
         std::all_of(suffix.begin(), suffix.end(), fits);
}

// What can be used of the Hub's thing with this name, and how. Only a command that leads on is named.
std::string HintOfHub(absl::string_view name, HubKind kind) {
  if (kind == HubKind::kDataSet) {
    return absl::StrCat("If it is the name of a data set on the Hugging Face Hub: what is there is not read as it is, ",
                        "but a file of JSON lines with \"prompt\" and \"answer\" (docs/guides/train_your_own.md)");
  }
  constexpr absl::string_view kFamilies =
      "of those on the Hugging Face Hub, models of the family OLMoE load (model_type olmoe in their config.json)";
  if (!absl::StrContains(absl::AsciiStrToLower(name), "olmoe"))
    return absl::StrCat("If it is a model's name: ", kFamilies);
  return absl::StrCat("If it is a model's name: ", kFamilies, ", and this fetches one: hf download ", name,
                      " --local-dir ", name.substr(name.find('/') + 1));
}

// How to come from an address to a path.
std::string HintOfAddress(absl::string_view address, HubKind kind) {
  if (absl::ConsumePrefix(&address, "file://")) {
    absl::ConsumePrefix(&address, "localhost");
    return absl::StrCat("write ", address);
  }
  absl::string_view name = address;
  const bool is_of_hub = absl::ConsumePrefix(&name, "hf://") || absl::ConsumePrefix(&name, "https://huggingface.co/") ||
                         absl::ConsumePrefix(&name, "http://huggingface.co/") ||
                         absl::ConsumePrefix(&name, "https://hf.co/");
  const absl::string_view option =
      absl::ConsumePrefix(&name, "datasets/") || kind == HubKind::kDataSet ? " --repo-type dataset" : "";
  absl::ConsumePrefix(&name, "models/");
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/', absl::SkipEmpty());
  if (!is_of_hub || parts.size() < 2) return "download it first, and give the path of what was downloaded";
  const bool may_load = kind == HubKind::kDataSet || absl::StrContains(absl::AsciiStrToLower(parts[1]), "olmoe");
  return absl::StrCat("download it first, with hf download ", parts[0], "/", parts[1], option, " --local-dir ",
                      parts[1], may_load ? "" : "; models of the family OLMoE load (model_type olmoe)");
}

}  // namespace

bool CouldBeOfHub(absl::string_view directory, absl::string_view path) {
  if (!IsHubName(path) || HasSuffix(path)) return false;
  return !PosixFileSystem().Stat(JoinPath(directory, path.substr(0, path.find('/')))).ok();
}

absl::Status RequirePath(const absl::Status& found, absl::string_view path, HubKind kind, absl::string_view wanted) {
  if (absl::IsNotFound(found) && absl::StartsWith(path, "~")) {
    return absl::NotFoundError(absl::StrCat("cannot find ", path, ": a shell turns ~ into your home directory, and ",
                                            "nothing does so here; write the whole path of ", wanted));
  }
  if (absl::IsNotFound(found) && absl::StrContains(path, "://")) {
    return absl::NotFoundError(absl::StrCat(path, " is an address, and nothing is fetched here; expected the path of ",
                                            wanted, ": ", HintOfAddress(path, kind)));
  }
  if (!absl::IsNotFound(found) || !CouldBeOfHub("", path)) return found;
  return absl::NotFoundError(
      absl::StrCat("there is no ", path, " here; expected the path of ", wanted, ". ", HintOfHub(path, kind)));
}

}  // namespace reprise::rl
