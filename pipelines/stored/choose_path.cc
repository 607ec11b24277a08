#include "pipelines/stored/choose_path.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/digest/sha256.h"
#include "rl/run/input_files.h"
#include "rl/run/path_keys.h"

namespace reprise {

absl::StatusOr<std::string> ChoosePath(absl::string_view flag, const std::vector<std::string>& given,
                                       const StoredRun& run) {
  if (given.size() <= 1) return given.empty() ? std::string() : given[0];
  rl::Config config = run.config;
  const rl::PathKey& key = rl::PathKeyForFlag(flag, config);
  if (key.path(config).empty()) return given[0];
  const std::vector<ExternalFile>& stored = run.reader->header().external_files;
  const auto is_stored = [&](const rl::ExternalFile& file) {
    return std::any_of(stored.begin(), stored.end(), [&](const ExternalFile& other) {
      return other.name == file.name && other.sha256 == file.sha256;
    });
  };
  absl::Status unread;
  for (const std::string& path : given) {
    key.path(config) = path;
    const absl::StatusOr<std::vector<rl::ExternalFile>> files = rl::DigestFilesAt(key, config);
    unread.Update(files.status());
    if (files.ok() && std::all_of(files->begin(), files->end(), is_stored)) return path;
  }
  if (!unread.ok()) return unread;
  return absl::FailedPreconditionError(absl::StrCat("none of the paths ", absl::StrJoin(given, ", "), " leads to the ",
                                                    key.what, " that the run has read: give it, too, by ", flag));
}

}  // namespace reprise
