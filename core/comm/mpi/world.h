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
#include "core/comm/communicator.h"

namespace reprise {

// How this process was started, as far as its environment shows.
struct Launch {
  bool has_mpi = false;  // mpirun or srun started it and provides MPI with its peers
  int tasks = 0;         // processes that were started together; 0 if unknown
};

// Reads OMPI_COMM_WORLD_SIZE (mpirun), PMIX_RANK and PMI_RANK (srun --mpi=..., other launchers) and
// SLURM_STEP_NUM_TASKS (srun) through `environment`, which behaves like std::getenv. FailedPrecondition if srun started
// several tasks without an MPI plug-in: each would run as the only process, and all would write the same run.
absl::StatusOr<Launch> ReadLaunch(const std::function<const char*(const char* name)>& environment);

// Returns a communicator of all ranks of this program. `ranks` is the number that the user requested, 0 for as many as
// the launcher started. MPI is initialised (once, for one thread that communicates) only if mpirun or srun started the
// process or more than one rank is requested; a single process gets a SelfCommunicator and never calls MPI. Collective;
// called once per process. Sets the rank for failed CHECKs. With REPRISE_CHECK_COLLECTIVES=1 in the environment, and in
// builds without optimisation unless it is 0, collectives of several ranks are checked (CheckedCommunicator).
//
// FailedPrecondition, on every rank, if the number of ranks is not the requested one; Unavailable if MPI fails.
absl::StatusOr<std::unique_ptr<Communicator>> StartWorld(int ranks);

// Finalises MPI if StartWorld initialised it. Collective, and only for success: after an error, return from main
// without it (a lost peer makes MPI_Finalize hang), and the launcher ends the other ranks.
absl::Status FinishWorld(std::unique_ptr<Communicator> world);

// Returns the loaded MPI library without its build details: "Open MPI v4.1.4". MPI need not be initialised.
std::string MpiVersion();

}  // namespace reprise

#endif  // CORE_COMM_MPI_WORLD_H_
