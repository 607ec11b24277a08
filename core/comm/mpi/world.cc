#include "core/comm/mpi/world.h"

#include <mpi.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/comm/checked_communicator.h"
#include "core/comm/mpi/mpi_communicator.h"
#include "core/comm/mpi/mpi_error.h"
#include "core/comm/mpi/single_copy.h"
#include "core/comm/self_communicator.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

absl::Status InitializeMpi() {
  int provided = MPI_THREAD_SINGLE;
  RETURN_IF_ERROR(MpiStatus(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread"));
  if (provided >= MPI_THREAD_FUNNELED) return absl::OkStatus();
  return absl::FailedPreconditionError("this MPI was built without threads (MPI_THREAD_FUNNELED is needed)");
}

// Returns whether collectives are checked: as the environment says, else where the compiler does not optimise.
bool ChecksCollectives() {
#ifdef __OPTIMIZE__
  constexpr bool kByDefault = false;
#else
  constexpr bool kByDefault = true;
#endif
  const char* const value = std::getenv("REPRISE_CHECK_COLLECTIVES");
  return value == nullptr || *value == 0 ? kByDefault : absl::string_view(value) != "0";
}

}  // namespace

absl::StatusOr<Launch> ReadLaunch(const std::function<const char*(const char* name)>& environment) {
  const auto number = [&](const char* name) {
    const char* const text = environment(name);
    int value = 0;
    return text != nullptr && absl::SimpleAtoi(text, &value) ? value : 0;
  };
  // mpirun within a Slurm job starts its daemons by srun, one per node: their count is not the number of ranks.
  if (const int ranks = number("OMPI_COMM_WORLD_SIZE"); ranks > 0) return Launch{.has_mpi = true, .tasks = ranks};
  const int tasks = number("SLURM_STEP_NUM_TASKS");
  if (environment("PMIX_RANK") != nullptr || environment("PMI_RANK") != nullptr) {
    return Launch{.has_mpi = true, .tasks = tasks};
  }
  if (tasks > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("srun started ", tasks, " tasks without MPI: add --mpi=pmix to srun's options"));
  }
  return Launch{};
}

absl::StatusOr<std::unique_ptr<Communicator>> StartWorld(int ranks) {
  CHECK_GE(ranks, 0);
  ASSIGN_OR_RETURN(const Launch launch, ReadLaunch(std::getenv));
  if (!launch.has_mpi && ranks <= 1) return std::make_unique<SelfCommunicator>();
  ChooseHowRanksCopy();
  RETURN_IF_ERROR(InitializeMpi());
  ASSIGN_OR_RETURN(std::unique_ptr<Communicator> world, MpiCommunicator::Create(MPI_COMM_WORLD));
  SetRankForChecks(world->rank());
  const int expected = ranks > 0 ? ranks : launch.tasks;
  if (expected > 0 && world->size() != expected) {
    return absl::FailedPreconditionError(absl::StrCat("expected ", expected, " ranks but MPI started ", world->size(),
                                                      ": start the program with mpirun -n ", expected,
                                                      " or srun --mpi=pmix -n ", expected));
  }
  if (ChecksCollectives()) return std::make_unique<CheckedCommunicator>(std::move(world));
  return world;
}

absl::Status FinishWorld(std::unique_ptr<Communicator> world) {
  world.reset();
  int initialized = 0, finalized = 0;
  RETURN_IF_ERROR(MpiStatus(MPI_Initialized(&initialized), "MPI_Initialized"));
  RETURN_IF_ERROR(MpiStatus(MPI_Finalized(&finalized), "MPI_Finalized"));
  return initialized && !finalized ? MpiStatus(MPI_Finalize(), "MPI_Finalize") : absl::OkStatus();
}

std::string MpiVersion() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "unknown";
  const std::string version = text;
  return version.substr(0, version.find_first_of(",\n"));
}

}  // namespace reprise
