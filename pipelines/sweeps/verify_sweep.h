#ifndef PIPELINES_SWEEPS_VERIFY_SWEEP_H_
#define PIPELINES_SWEEPS_VERIFY_SWEEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "data/artifact/table_file.h"
#include "pipelines/sweeps/sweep_table.h"

namespace reprise {

struct SweepCheck {
  int64_t trials = 0;
  std::string difference;            // the first between the stored table and that of the trials; "" if there is none
  std::vector<std::string> sampled;  // names of trials to be executed again, ascending
};

// Verifies the digests of sweep.h5, of each trial's run.h5 and of the checkpoints beside it, and computes the table
// again from the trials' runs, with which the plan must agree (plan_check.h). The models that the trials have exported
// are not read. At most `samples` of the trials that are done are sampled, by a draw that depends on the table.
// FailedPrecondition if the sweep is not complete, or if none of its trials has ended with a run; DataLoss, naming the
// file, if one is damaged; NotFound if the directory is not that of a sweep. Calls `progress`, if it is not null.
absl::StatusOr<SweepCheck> CheckSweep(FileSystem& files, const std::string& directory, int64_t samples,
                                      const TableProgress& progress = nullptr);

// Describes the first difference of two files of tables, of the trials if there is one: "trials, row 3 (03-seed2),
// score: stored 0.5, computed 0.25". "" if they are equal. Pure.
std::string FirstDifference(const TableFile& stored, const TableFile& computed);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_VERIFY_SWEEP_H_
