#include "pipelines/sweeps/pending_trials.h"

#include <algorithm>
#include <map>

#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "data/artifact/find_run.h"
#include "pipelines/sweeps/attempts.h"
#include "pipelines/sweeps/trial_outcome.h"

namespace reprise {
namespace {

// Also those whose death another task of a job array has noted already.
bool HasDied(const Attempts& attempts) { return attempts.end == Attempts::kOpen || attempts.end == Attempts::kDied; }

}  // namespace

int64_t LastStepIn(FileSystem& files, const std::string& directory) {
  const absl::StatusOr<FoundRun> found = FindRun(files, directory);
  return found.ok() ? found->last_step : -1;
}

absl::StatusOr<PendingTrials> FindPendingTrials(FileSystem& files, const std::string& sweep_directory,
                                                const StoredPlan& plan, const std::vector<int64_t>& trials,
                                                int64_t most_attempts) {
  const auto directory_of = [&](int64_t trial) { return TrialDirectory(sweep_directory, plan.trials[trial].name); };
  std::vector<Attempts> attempts_T;  // by trial
  std::map<uint32_t, int> deaths;    // by execution
  for (int64_t i = 0; i < static_cast<int64_t>(plan.trials.size()); ++i) {
    ASSIGN_OR_RETURN(attempts_T.emplace_back(), LoadAttempts(files, directory_of(i)));
    if (HasDied(attempts_T.back())) ++deaths[attempts_T.back().execution];
  }
  PendingTrials pending;
  for (const int64_t i : trials) {
    const std::string directory = directory_of(i);
    ASSIGN_OR_RETURN(const bool is_finished, IsFinished(files, directory));
    if (is_finished) continue;
    Attempts& attempts = attempts_T[i];
    if (attempts.end == Attempts::kOpen) {
      RETURN_IF_ERROR(NoteDeath(files, directory, attempts.execution, LastStepIn(files, directory),
                                /*alone=*/deaths[attempts.execution] == 1));
      ASSIGN_OR_RETURN(attempts, LoadAttempts(files, directory));
    }
    if (attempts.lost >= most_attempts) {
      // A complete run counts, whatever happened after it.
      ASSIGN_OR_RETURN(const bool has_run, Exists(files, JoinPath(directory, "run.h5")));
      if (!has_run) RETURN_IF_ERROR(WriteFailure(files, directory, GivenUp(attempts.lost)));
      pending.given_up.push_back(i);
    } else {
      (attempts.is_suspect ? pending.alone : pending.shared).push_back(i);
    }
  }
  const auto lost = [&](int64_t trial) { return attempts_T[trial].lost; };
  std::stable_sort(pending.alone.begin(), pending.alone.end(), [&](int64_t a, int64_t b) { return lost(a) < lost(b); });
  return pending;
}

}  // namespace reprise
