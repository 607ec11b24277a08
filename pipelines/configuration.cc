#include "pipelines/configuration.h"

#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "rl/config/check.h"

namespace reprise {
namespace {

constexpr int64_t kMostConfigurationBytes = int64_t{1} << 20;

}  // namespace

absl::StatusOr<rl::ResolvedConfig> ReadConfiguration(const std::string& path, const std::vector<std::string>& overrides,
                                                     int64_t ranks) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), path, kMostConfigurationBytes));
  const std::string name = path.substr(path.rfind('/') + 1);
  ASSIGN_OR_RETURN(rl::ResolvedConfig resolved, rl::LoadConfig(text, name, overrides));
  RETURN_IF_ERROR(rl::CheckConfig(resolved.config, ranks));
  return resolved;
}

}  // namespace reprise
