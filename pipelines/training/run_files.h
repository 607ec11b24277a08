#ifndef PIPELINES_TRAINING_RUN_FILES_H_
#define PIPELINES_TRAINING_RUN_FILES_H_

// The text files beside run.h5: metrics.jsonl for plots, execution.jsonl for data that depends on place and time.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/io/file_system.h"
#include "pipelines/training/execution_counts.h"
#include "rl/record/record_schema.h"

namespace reprise {

class RunFiles {
 public:
  // Writes DIRECTORY/metrics.jsonl, which begins with the run's earlier steps, and appends to
  // DIRECTORY/execution.jsonl, which has their durations and, as it names hosts, is readable by its owner only. Hard
  // links to either are not changed; FailedPrecondition if execution.jsonl is a symbolic one. `clock`: seconds from any
  // origin.
  static absl::StatusOr<RunFiles> Create(FileSystem& files, const std::string& directory, int64_t sft_steps,
                                         const std::vector<rl::StepResults>& before, std::function<double()> clock);

  // Writes this process's first line in execution.jsonl: start time (UTC), host, ranks, threads, instruction set,
  // source revision, versions, and the number of committed steps when it resumed the run.
  absl::Status DescribeExecution(int ranks, int threads, int64_t committed, absl::Time start);

  // Writes one line in each file: the step's metrics, and its duration. Returns the first.
  absl::StatusOr<std::string> Record(const rl::StepResults& step);

  // Writes execution.jsonl's last line. Afterwards both files are durable and closed; no further calls are allowed.
  absl::Status Finish(const ExecutionCounts& counts);

 private:
  std::unique_ptr<File> metrics_, execution_;
  // {"phase": ..., "step": ..., "global_step": ..., "step_time": ..., "seconds": ..., "reward": ..., ...}: one line.
  // step_time: in seconds; without it the line has neither the step's time nor the sum so far.
  std::string MetricsJson(const rl::StepResults& step, std::optional<double> step_time);

  std::function<double()> clock_;
  double last_ = 0, seconds_ = 0;
  int64_t sft_steps_ = 0;
};

}  // namespace reprise

#endif  // PIPELINES_TRAINING_RUN_FILES_H_
