#ifndef PIPELINES_STORED_RUN_COMPARISON_H_
#define PIPELINES_STORED_RUN_COMPARISON_H_

// Compares two stored runs: first their headers, then every step, then the stored weights.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/artifact/format/run_header.h"
#include "pipelines/stored/stored_run.h"
#include "rl/record/divergence.h"

namespace reprise {

// A key of the configuration, the numeric contract, or an external file. Values are as stored; empty if a run does not
// have it.
struct HeaderDifference {
  std::string name, a, b;

  bool operator==(const HeaderDifference&) const = default;
};

// Appends the differences between two sets of named values, sorted by name.
void AppendDifferences(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b,
                       std::vector<HeaderDifference>& differences);

// Returns every key of the configurations, then every external file, that differs; both sorted by name. Pure.
std::vector<HeaderDifference> CompareHeaders(const RunHeader& a, const RunHeader& b);

// A phase with more steps in one of the runs.
struct PhaseEnd {
  rl::Phase phase = rl::Phase::kTraining;
  int64_t a = 0, b = 0;  // last step of each; 0: none
};

struct RunComparison {
  std::vector<HeaderDifference> header;
  int64_t steps_compared = 0;                // steps that agree
  std::optional<rl::Divergence> divergence;  // `expected` is A's value, `actual` B's
  std::optional<PhaseEnd> end;               // the first phase that ends earlier in one run, where no step differs
  std::optional<std::string> contents;       // another difference where steps and ends agree: a checkpoint's tensor

  bool identical() const { return header.empty() && !divergence && !end && !contents; }
};

// Finds the first step that differs, among those that both runs have; sets steps_compared, divergence and end. Pure.
// `schema` describes the steps of `a`.
void CompareSteps(const rl::RecordSchema& schema, const std::vector<rl::StepTables>& a,
                  const std::vector<rl::StepTables>& b, const std::vector<std::string>& tensor_names,
                  RunComparison* comparison);

// Compares everything. Errors are those of checkpoint files.
absl::StatusOr<RunComparison> CompareRuns(const StoredRun& a, const StoredRun& b);

}  // namespace reprise

#endif  // PIPELINES_STORED_RUN_COMPARISON_H_
