#ifndef CORE_COMM_MPI_WORLD_H_
#define CORE_COMM_MPI_WORLD_H_

// Start and end of a program of ranks:
//
//   absl::StatusOr<std::unique_ptr<Communicator>> world = StartWorld(ranks);
//   ... work; on success only:
//   FinishWorld(*std::move(world));

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/comm/communicator.h"

namespace reprise {

// How many processes were started together with this one, as far as its environment shows.
struct Launch {
  int tasks = 1;                // 0: MPI knows
  int least_tasks = 1;          // if MPI knows
  absl::string_view says = "";  // the variable with `tasks`
};

// Asks the launcher's variables through `environment`, which behaves like std::getenv. What decides is a size:
// OMPI_COMM_WORLD_SIZE (mpirun), SLURM_STEP_NUM_TASKS (srun), PMI_SIZE (other launchers). PMIX_RANK and PMI_RANK alone
// do not mean several processes: a shell of one task has them, and so has everything that is started or submitted from
// it. FailedPrecondition if srun started several tasks without an MPI plug-in: each would run as the only process, and
// all would write the same run.
absl::StatusOr<Launch> ReadLaunch(const std::function<const char*(const char* name)>& environment);

// Returns a communicator of all ranks of this program. `ranks` is the number that the user requested, 0 for as many as
// the launcher started. A single process gets a SelfCommunicator and never calls MPI; for several, MPI is initialised
// (once, for one thread that communicates). Collective; called once per process. Sets the rank for failed CHECKs. With
// REPRISE_CHECK_COLLECTIVES=1 in the environment, and in builds without optimisation unless it is 0, collectives of
// several ranks are checked (CheckedCommunicator).
//
// FailedPrecondition, on every rank, if the number of ranks is not the requested one; Unavailable if MPI fails. If MPI
// ends the process because it cannot start, its exit code is that of Unavailable (start_guard.h).
absl::StatusOr<std::unique_ptr<Communicator>> StartWorld(int ranks);

// Finalises MPI if StartWorld initialised it. Collective, and only for success: after an error, return from main
// without it (a lost peer makes MPI_Finalize hang), and the launcher ends the other ranks.
absl::Status FinishWorld(std::unique_ptr<Communicator> world);

// Returns the loaded MPI library without its build details: "Open MPI v4.1.4". MPI need not be initialised.
std::string MpiVersion();

}  // namespace reprise

#endif  // CORE_COMM_MPI_WORLD_H_
