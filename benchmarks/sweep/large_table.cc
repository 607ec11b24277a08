// Computes and encodes the table of VARIANTS variants with SEEDS seeds each, made up and without files, and prints the
// time as one line of JSON:
//   s_table    comparisons, effects, variants
//   s_files    sweep.h5, sweep.csv and sweep.md from it
//
//   bazel-bin/benchmarks/sweep/large_table 2000 5

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "kernels/isa/isa.h"
#include "pipelines/program/program.h"
#include "pipelines/sweeps/sweep_folder.h"
#include "pipelines/sweeps/sweep_table.h"

namespace reprise::benchmarks {
namespace {

absl::Status Measure(int variants, int seeds) {
  StoredPlan plan = {.axes = {"optimizer.learning_rate", "run.seed"}, .compare = {}, .trials = {}};
  std::vector<TrialOutcome> outcomes;
  for (int v = 0; v < variants; ++v) {
    for (int seed = 1; seed <= seeds; ++seed) {
      const std::string rate = absl::StrCat("0.", 100000 + v);
      PlannedTrial trial;
      trial.name = absl::StrCat(v, "-", seed);
      trial.arm = absl::StrCat("lr", rate);
      trial.problem = "p";
      trial.seed = seed;
      trial.settings = {rate, absl::StrCat(seed)};
      plan.trials.push_back(std::move(trial));
      TrialOutcome outcome = {.status = TrialStatus::kDone};
      const double score = (v * 7919 % variants) + 0.1 * ((v + 3 * seed) % 5);
      outcome.metrics = {{.name = "reward", .count = 1, .last = score, .tail = score}};
      outcome.facts.keys = {{"optimizer.learning_rate", rate}};
      outcomes.push_back(std::move(outcome));
    }
  }
  const double begin = Seconds();
  const SweepTable table = MakeTable(plan, std::move(outcomes));
  const double made = Seconds();
  RETURN_IF_ERROR(EncodeTable(table).status());
  std::printf(R"({"trials": %d, "comparisons": %zu, "effects": %zu, "isa": "%s", "s_table": %.2f, "s_files": %.2f})"
              "\n",
              variants * seeds, table.comparisons.size(), table.effects.size(),
              std::string(kernels::NameOf(kernels::ActiveIsa())).c_str(), made - begin, Seconds() - made);
  return absl::OkStatus();
}

}  // namespace
}  // namespace reprise::benchmarks

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: large_table VARIANTS SEEDS\n");
    return 64;
  }
  absl::Status status = reprise::kernels::InitializeIsa();
  if (status.ok()) status = reprise::benchmarks::Measure(std::atoi(argv[1]), std::atoi(argv[2]));
  if (!status.ok()) std::fprintf(stderr, "large_table: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 70;
}
