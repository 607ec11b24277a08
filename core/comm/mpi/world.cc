#include "core/comm/mpi/world.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/comm/checked_communicator.h"
#include "core/comm/mpi/mpi_communicator.h"
#include "core/comm/mpi/mpi_error.h"
#include "core/comm/mpi/single_copy.h"
#include "core/comm/mpi/start_guard.h"
#include "core/comm/self_communicator.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

constexpr char kMpirunSize[] = "OMPI_COMM_WORLD_SIZE", kStepSize[] = "SLURM_STEP_NUM_TASKS", kPmiSize[] = "PMI_SIZE";

absl::Status InitializeMpi() {
  int provided = MPI_THREAD_SINGLE;
  RETURN_IF_ERROR(MpiStatus(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread"));
  // Until a communicator of ours exists, errors are those of these two, whose handler ends the process.
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    RETURN_IF_ERROR(MpiStatus(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
  }
  if (provided >= MPI_THREAD_FUNNELED) return absl::OkStatus();
  return absl::FailedPreconditionError("this MPI was built without threads (MPI_THREAD_FUNNELED is needed)");
}

// Several processes must never be a world of one each: all would write the same run.
absl::Status CheckSize(const Launch& launch, int requested, int size) {
  const int expected = requested > 0 ? requested : launch.tasks;
  if (expected > 0 ? size == expected : size >= launch.least_tasks) return absl::OkStatus();
  const std::string wanted = expected > 0 ? absl::StrCat(expected) : absl::StrCat("at least ", launch.least_tasks);
  const std::string n = expected > 0 ? wanted : "N";
  const absl::string_view says = requested > 0 ? "" : launch.says;
  return absl::FailedPreconditionError(
      absl::StrCat("expected ", wanted, " ranks but MPI started ", size, ": start the program with mpirun -n ", n,
                   " or srun --mpi=pmix -n ", n,
                   says.empty() ? "" : absl::StrCat(", or unset ", says, " if it is that of another program")));
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
    return text != nullptr && absl::SimpleAtoi(text, &value) && value > 0 ? value : 0;
  };
  const char* const job = environment("PMIX_NAMESPACE");  // of the innermost launcher that speaks PMIx
  const bool is_job_of_srun = job != nullptr && absl::StartsWith(job, "slurm.");
  // mpirun within a Slurm job starts its daemons by srun, one per node: their count is not the number of ranks.
  const int mpirun = is_job_of_srun ? 0 : number(kMpirunSize);
  if (mpirun > 1) return Launch{.tasks = mpirun, .says = kMpirunSize};
  const bool has_pmi = environment("PMI_RANK") != nullptr, has_pmix = environment("PMIX_RANK") != nullptr;
  const int step = number(kStepSize), pmi = has_pmi ? number(kPmiSize) : 0;
  const int tasks = std::max(step, pmi);
  if (tasks > 1 && (has_pmi || has_pmix)) return Launch{.tasks = tasks, .says = step > 1 ? kStepSize : kPmiSize};
  if (tasks > 1) {
    return absl::FailedPreconditionError(absl::StrCat("srun started ", tasks,
                                                      " tasks without MPI: add --mpi=pmix to srun's options, or unset ",
                                                      kStepSize, " if it is that of another program's step"));
  }
  if (tasks == 1 || mpirun == 1 || !(has_pmi || has_pmix)) return Launch{};
  return Launch{.tasks = 0, .least_tasks = 1 + std::max(number("PMIX_RANK"), number("PMI_RANK"))};
}

absl::StatusOr<std::unique_ptr<Communicator>> StartWorld(int ranks) {
  CHECK_GE(ranks, 0);
  ASSIGN_OR_RETURN(const Launch launch, ReadLaunch(std::getenv));
  if (launch.tasks == 1 && ranks <= 1) return std::make_unique<SelfCommunicator>();
  ChooseHowRanksCopy();
  std::unique_ptr<Communicator> world;
  {
    const StartGuard guard(
        "MPI did not start: srun needs --mpi=pmix, every program of several ranks an mpirun or srun of its own; what "
        "Open MPI printed says more");
    RETURN_IF_ERROR(InitializeMpi());
    ASSIGN_OR_RETURN(world, MpiCommunicator::Create(MPI_COMM_WORLD));
  }
  SetRankForChecks(world->rank());
  RETURN_IF_ERROR(CheckSize(launch, ranks, world->size()));
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
