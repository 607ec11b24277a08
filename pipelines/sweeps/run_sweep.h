#ifndef PIPELINES_SWEEPS_RUN_SWEEP_H_
#define PIPELINES_SWEEPS_RUN_SWEEP_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "core/log/logger.h"
#include "pipelines/sweeps/sweep_plan.h"
#include "pipelines/sweeps/sweep_table.h"

namespace reprise {

struct SweepRequest {
  SweepPlan plan;
  std::string output;                            // the sweep's folder
  std::vector<int> teams;                        // the ranks of each (teams/deal_trials.h)
  int64_t task = 0, tasks = 1;                   // only this task's part of the trials, in a job array
  int64_t attempts = 3;                          // in a row that a trial may lose (attempts.h) before it is given up
  Verbosity verbosity = Verbosity::kNormal;      // of the teams' own log lines
  bool check = false;                            // only checks the folder
  std::string warning = {};                      // for the user, before the first trial
  const std::atomic<bool>* interrupt = nullptr;  // if set, on any rank, the sweep ends after the current step
};

struct SweepResult {
  SweepTable table;
  std::string table_digest;  // the run digest of sweep.h5: of its contents
  std::string table_sha256;  // of the file
};

// Runs the trials that have not ended, those that failed among them, each in its own folder below the sweep's and on
// one of the teams, and writes the table. A trial that was killed goes on where it was. Collective; rank 0 returns the
// result (nullopt on other ranks, after a check, and for a task of an array if other tasks' trials have not ended: the
// task that ends last writes the table). A trial that fails is a row of the table and does not end the sweep; so is one
// that has lost `attempts` attempts.
// Unavailable if the sweep was interrupted, or if another process works on it.
absl::StatusOr<std::optional<SweepResult>> RunSweep(const SweepRequest& request, Communicator& comm, Logger& logger);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_RUN_SWEEP_H_
