#include "rl/workload/external_file.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

}  // namespace

absl::Status RequirePath(const absl::Status& found, absl::string_view path, HubKind kind, absl::string_view wanted) {
  if (absl::IsNotFound(found) && absl::StartsWith(path, "~")) {
    return absl::NotFoundError(absl::StrCat("cannot find ", path, ": a shell turns ~ into your home directory, and ",
                                            "nothing does so here; write the whole path of ", wanted));
  }
  if (!absl::IsNotFound(found) || !IsHubName(path) || HasSuffix(path)) return found;
  if (PosixFileSystem().Stat(path.substr(0, path.find('/'))).ok()) return found;
  return absl::NotFoundError(
      absl::StrCat("there is no ", path, " here; expected the path of ", wanted, ". ", HintOfHub(path, kind)));
}

}  // namespace reprise::rl
