#include "rl/run/data_file.h"

#include <string>

#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "data/jsonl/task_lines.h"

namespace reprise::rl {
namespace {

constexpr int64_t kMostDataBytes = int64_t{1} << 36;

}  // namespace

absl::StatusOr<DataFile> ReadDataFile(const DataConfig& config) {
  DataFile data;
  if (config.path.empty()) return data;
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(PosixFileSystem(), config.path, kMostDataBytes));
  ASSIGN_OR_RETURN(data.problems, data::ParseTaskLines(bytes, config.path));
  data.files = {{std::string(kProblemsName), Sha256(bytes)}};
  return data;
}

}  // namespace reprise::rl
