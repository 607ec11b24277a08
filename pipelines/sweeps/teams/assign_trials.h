#ifndef PIPELINES_SWEEPS_TEAMS_ASSIGN_TRIALS_H_
#define PIPELINES_SWEEPS_TEAMS_ASSIGN_TRIALS_H_

// Deals the trials of a sweep: to the teams of one MPI program, while they run, and to the tasks of a Slurm job array.
// Which team runs a trial, and when, must not matter to the trial.
//
// A team claims a trial by creating a file whose name is the trial's number, which fails if the file exists. A counter
// in an MPI window, or a rank that deals, would make no progress while its rank computes: MPI is initialised for one
// thread (core/comm/mpi/world.h), and a step may take minutes. A file needs no other rank, costs some ten microseconds
// on a local file system and a few milliseconds on a shared one, and every trial is claimed once.
//
// The claims of an execution are in a directory of its own, which is removed at its end, so that the trials of an
// execution that was killed can be claimed again. The next execution of the same trials removes what is left of earlier
// ones: if one of them is still alive, on a node that was cut off, it finds its directory gone and deals no further
// trials. Only claims are removed: what else is there stays, and no link is followed.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/comm/communicator.h"

namespace reprise {

struct TeamPlan {
  std::vector<int> sizes;          // ranks of each team, in the order of the ranks; in all, those of the program
  std::string directory;           // of all claims; it is made, and removed after all trials
  std::string part = "all";        // which of the sweep's trials: "all", or the name of a part, of letters and digits
  std::vector<double> costs = {};  // expected, of each pending trial, in any unit; empty: unknown
  bool one_at_a_time = false;      // the largest team takes all trials; the others wait
};

// Reads the sizes of the teams into which `ranks` ranks are divided: "2" means teams of two ranks, "2,1,1" these three
// teams. InvalidArgument, with the reason, unless every rank is in one team.
absl::StatusOr<std::vector<int>> ReadTeamSizes(absl::string_view text, int ranks);

// Returns the trials of task `task` of `tasks`, 0 <= task < tasks: every tasks-th one of `trials`, so that neighbours,
// which often cost the same, are in different tasks. A trial is in the same task at every start. Pure.
std::vector<int64_t> TrialsOfTask(absl::Span<const int64_t> trials, int64_t task, int64_t tasks);

// Calls run(team, trial) once for each of the `pending` trials, on every rank of one of the teams: the most expensive
// first, if the costs are known, else in the given order. Whenever a team is free it takes the next trial, so that no
// team waits while trials are pending. With one team, `team` is `world`.
//
// An error of `run`, on any rank of the team, is that trial's own: fail(trial, error) is called on the team's first
// rank, unless another execution has taken over, and the team takes the next trial. But after Unavailable (a signal, a
// lost peer) `fail` is not called, and no team takes another trial.
//
// Collective; returns the same status on every rank when all teams are done: OK if every trial was run; Unavailable,
// with the first such rank's message, if a trial was; Unavailable also if another execution has removed the claims or
// if a trial was claimed but not run: starting the sweep again continues it; the error of `fail`. FailedPrecondition,
// naming it, if there is something else among earlier claims, or a link in their place. Other errors of the claims'
// directory are FileSystem's. `plan` and `pending` must be the same on all ranks; a plan that does not fit them is a
// failed CHECK. If a process of `world` dies, the launcher or the watchdog ends the others.
absl::Status AssignTrials(Communicator& world, const TeamPlan& plan, absl::Span<const int64_t> pending,
                          absl::FunctionRef<absl::Status(Communicator& team, int64_t trial)> run,
                          absl::FunctionRef<absl::Status(int64_t trial, const absl::Status& error)> fail);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_TEAMS_ASSIGN_TRIALS_H_
