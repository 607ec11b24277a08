#include "rl/run/input_files.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/digest/file_digest.h"
#include "core/io/file_system.h"
#include "core/status/status_macros.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise::rl {
namespace {

absl::StatusOr<ExternalFile> DigestFile(const std::string& path, std::string name) {
  ASSIGN_OR_RETURN(const Digest sha256, DigestOfFile(PosixFileSystem(), path));
  return ExternalFile{std::move(name), sha256};
}

// The path is that of the only file, or of the directory of several.
absl::Status AppendFiles(const std::string& path, std::vector<std::string> names, std::vector<ExternalFile>* files) {
  for (std::string& name : names) {
    const std::string file = names.size() == 1 ? path : JoinPath(path, name.substr(name.rfind('/') + 1));
    ASSIGN_OR_RETURN(ExternalFile digested, DigestFile(file, std::move(name)));
    files->push_back(std::move(digested));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ExternalFile>> DigestFilesAt(const PathKey& key, const Config& config) {
  if (key.flag == "--model") return DigestModelFiles(config.model);
  Config copy = config;
  std::vector<ExternalFile> files;
  const std::string& path = key.path(copy);
  if (!path.empty()) RETURN_IF_ERROR(AppendFiles(path, key.files(config), &files));
  return files;
}

absl::StatusOr<std::vector<ExternalFile>> DigestInputFiles(const Config& config) {
  std::vector<ExternalFile> files;
  for (const PathKey& key : PathKeys()) {
    ASSIGN_OR_RETURN(std::vector<ExternalFile> at_path, DigestFilesAt(key, config));
    std::move(at_path.begin(), at_path.end(), std::back_inserter(files));
  }
  std::sort(files.begin(), files.end(), [](const ExternalFile& a, const ExternalFile& b) { return a.name < b.name; });
  return files;
}

}  // namespace reprise::rl
