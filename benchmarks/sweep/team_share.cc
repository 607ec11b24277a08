// Trains TRIALS equal runs of 10 steps, which differ in their seed, on teams of one rank, and prints the share of the
// time in which a team had a trial, as one line of JSON:
//   s_all       from the first trial's beginning until every team is done
//   s_trials    the time in trials, averaged over the teams
//   share       s_trials / s_all
//   s_claim     the longest time between two trials of a team: taking the next one
//
//   OMP_NUM_THREADS=1 tools/run_mpi_test.sh 2 bazel-bin/benchmarks/sweep/team_share configs/quickstart.toml 40
//   DIRECTORY
//
// One rank for each core; DIRECTORY must not exist. At the end a team waits at most for one trial of another, so that
// the share is at least 1 - (ranks - 1) / trials, less the time between trials.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/comm/collectives.h"
#include "core/comm/mpi/world.h"
#include "core/log/logger.h"
#include "core/status/status_macros.h"
#include "kernels/isa/isa.h"
#include "pipelines/program/configuration.h"
#include "pipelines/program/program.h"
#include "pipelines/sweeps/teams/assign_trials.h"
#include "pipelines/training/train_run.h"

namespace reprise::benchmarks {
namespace {

struct Times {
  double in_trials = 0, longest_claim = 0;
};

// Times and trials of this rank, which is a team.
absl::StatusOr<Times> TrainTrials(Communicator& world, const std::string& config, int64_t trials,
                                  const std::string& directory) {
  KeyEdits edits;
  edits.set = {"execution.threads=1", "run.steps=10", "sft.steps=4"};
  ASSIGN_OR_RETURN(const rl::ResolvedConfig resolved, ReadConfiguration(config, edits, /*ranks=*/1, nullptr));
  std::vector<int64_t> pending;
  for (int64_t trial = 0; trial < trials; ++trial) pending.push_back(trial);
  const TeamPlan plan = {.sizes = std::vector<int>(static_cast<size_t>(world.size()), 1),
                         .directory = absl::StrCat(directory, "/dealing")};
  Times times;
  double last_end = Seconds();
  const auto run = [&](Communicator& team, int64_t trial) -> absl::Status {
    const double start = Seconds();
    times.longest_claim = std::max(times.longest_claim, start - last_end);
    TrainRequest request = {.config = resolved, .output = absl::StrCat(directory, "/", trial)};
    request.config.config.run.seed = trial;
    Logger logger({.rank = 1});  // silent
    const absl::Status status = TrainRun(request, team, logger).status();
    last_end = Seconds();
    times.in_trials += last_end - start;
    return status;
  };
  RETURN_IF_ERROR(AssignTrials(world, plan, pending, run, [](int64_t, const absl::Status& error) { return error; }));
  return times;
}

absl::Status Run(const std::string& config, int64_t trials, const std::string& directory) {
  ASSIGN_OR_RETURN(std::unique_ptr<Communicator> world, StartWorld(0));
  RETURN_IF_ERROR(world->Barrier());
  const double start = Seconds();
  ASSIGN_OR_RETURN(const Times mine, TrainTrials(*world, config, trials, directory));
  const double all = Seconds() - start;
  int64_t nano = static_cast<int64_t>(1e9 * mine.in_trials), longest = static_cast<int64_t>(1e9 * mine.longest_claim);
  RETURN_IF_ERROR(AllreduceSum(*world, absl::MakeSpan(&nano, 1)));
  RETURN_IF_ERROR(AllreduceMax(*world, absl::MakeSpan(&longest, 1)));
  const double in_trials = 1e-9 * static_cast<double>(nano) / world->size();
  if (world->rank() == 0) {
    std::printf(
        "{\"what\": \"team_share\", \"teams\": %d, \"trials\": %lld, \"s_all\": %.3f, \"s_trials\": %.3f, "
        "\"share\": %.4f, \"s_claim\": %.6f}\n",
        world->size(), static_cast<long long>(trials), all, in_trials, in_trials / all,
        1e-9 * static_cast<double>(longest));
  }
  return FinishWorld(std::move(world));
}

}  // namespace
}  // namespace reprise::benchmarks

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: team_share CONFIG TRIALS DIRECTORY\n");
    return 64;
  }
  absl::Status status = reprise::kernels::InitializeIsa();
  if (status.ok()) status = reprise::benchmarks::Run(argv[1], std::atoll(argv[2]), argv[3]);
  if (!status.ok()) std::fprintf(stderr, "team_share: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 70;
}
