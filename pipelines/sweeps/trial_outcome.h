#ifndef PIPELINES_SWEEPS_TRIAL_OUTCOME_H_
#define PIPELINES_SWEEPS_TRIAL_OUTCOME_H_

// What became of a trial, read from its folder alone: how, where and when it was executed has left nothing that this
// could depend on.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/file_system.h"
#include "data/artifact/run_reader.h"
#include "pipelines/sweeps/stored_plan.h"
#include "pipelines/sweeps/trials/trial_facts.h"

namespace reprise {

// The name of a failed trial's report in its folder: {"code": ..., "sentence": ...}.
inline constexpr char kFailureFile[] = "failure.json";

enum class TrialStatus { kUnfinished, kDone, kFailed };

// A metric over the training steps that have it.
struct MetricSummary {
  std::string name;
  int64_t count = 0;
  double first = 0, last = 0, least = 0, greatest = 0, mean = 0;
  double tail = 0;  // mean of the last tenth of the values, at least one
};

struct TrialOutcome {
  TrialStatus status = TrialStatus::kUnfinished;
  std::string code = "", sentence = "";           // of a failure; the code as absl names it: "INVALID_ARGUMENT"
  std::string run_digest = "", file_sha256 = "";  // of run.h5, hexadecimal
  int64_t steps = 0;                              // of training
  std::vector<MetricSummary> metrics = {};        // sorted by name
  TrialFacts facts = {};                          // of a trial that is done
};

// Null if the trial has no such metric.
const MetricSummary* FindMetric(const TrialOutcome& outcome, absl::string_view name);

// Returns where the trial's run is.
std::string TrialDirectory(absl::string_view sweep_directory, const std::string& name);

// Reads and verifies the trial's run.h5, which must be that of the planned configuration and files; without one, its
// kFailureFile. A trial with neither is unfinished. DataLoss, naming the file, if it is damaged, or if there are both:
// a failed trial has no run. FailedPrecondition if it is another run.
absl::StatusOr<TrialOutcome> ReadOutcome(FileSystem& files, const std::string& directory,
                                         const std::vector<std::string>& axes, const PlannedTrial& trial);

// Returns whether nothing is left to do: the run and its exported model are complete, and no failure is noted.
absl::StatusOr<bool> IsFinished(FileSystem& files, const std::string& directory);

// Writes the failure into the trial's folder, without the rank that failed, the folder's own path, and the parts of
// temporary files' names that differ between processes. Replaces an earlier one.
absl::Status WriteFailure(FileSystem& files, const std::string& directory, const absl::Status& failure);

// Removes what WriteFailure wrote, if it did.
absl::Status ClearFailure(FileSystem& files, const std::string& directory);

// Summarizes the rows of a run's stream `metrics`. DataLoss for a stream that is not of metrics. Pure.
absl::StatusOr<std::vector<MetricSummary>> Summarize(const StreamTable& metrics);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_TRIAL_OUTCOME_H_
