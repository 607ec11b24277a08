#include "rl/workload/external_file.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

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

}  // namespace

absl::Status RequirePath(const absl::Status& found, absl::string_view path, absl::string_view kind,
                         absl::string_view wanted) {
  if (absl::IsNotFound(found) && absl::StartsWith(path, "~")) {
    return absl::NotFoundError(absl::StrCat("cannot find ", path, ": a shell turns ~ into your home directory, and ",
                                            "nothing does so here; write the whole path of ", wanted));
  }
  if (!absl::IsNotFound(found) || !IsHubName(path)) return found;
  const absl::string_view name = path.substr(path.find('/') + 1);
  return absl::NotFoundError(absl::StrCat("there is no ", path, " here; expected the path of ", wanted,
                                          ". If it is the name of ", kind,
                                          " on the Hugging Face Hub, fetch it first: hf download ", path,
                                          kind == "a model" ? "" : " --repo-type dataset", " --local-dir ", name));
}

}  // namespace reprise::rl
