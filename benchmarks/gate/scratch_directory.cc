#include "benchmarks/gate/scratch_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/status/conditions.h"

namespace reprise::gate {

absl::StatusOr<ScratchDirectory> ScratchDirectory::Create() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string path = ((error ? std::filesystem::path("/tmp") : parent) / "reprise_gate.XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return FileError(errno, "create", path);
  return ScratchDirectory(path);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;  // nothing depends on the removal
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace reprise::gate
