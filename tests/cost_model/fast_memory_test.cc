// Promise: with run.reduction = "fast", peak memory without LibTorch's is what `validate` predicts, within 10%, and
// `validate` says that its prediction does not include LibTorch's.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/testing/sanitizers.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/isa/isa.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/configuration.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/workloads/completions/kind/completions_cost.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kWide[] = "tests/cost_model/wide.toml";

// Returns the peak bytes of a process that runs `config` with our kernels in place of LibTorch's, and ranks as threads.
double PeakOfRun(const rl::Config& config, int ranks) {
  const pid_t child = fork();
  if (child == 0) {
    rl::testing::Outcome outcome;
    _exit(rl::testing::RunLearner(config, {.ranks = ranks}, &outcome).ok() ? 0 : 1);
  }
  int status = 0;
  rusage usage = {};
  EXPECT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_EQ(status, 0);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

rl::MemoryEstimate EstimateRunMemory(const rl::Config& config, int ranks) {
  const auto cost = rl::EstimateCompletions(config, ranks, config.execution.threads);
  EXPECT_OK(cost.status());
  return cost->memory;
}

// Returns the estimated bytes of a process whose threads are the `ranks` ranks.
double BytesWithoutLibTorch(const rl::MemoryEstimate& estimate, int ranks) {
  double bytes = 0;
  for (const rl::MemoryItem& item : estimate.items) {
    if (item.what == "LibTorch's packed copies") continue;
    bytes += static_cast<double>(item.what == "program and libraries" ? item.bytes : ranks * item.bytes);
  }
  return bytes;
}

void ExpectWithinATenth(int ranks, std::vector<std::string> overrides) {
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer\'s shadow memory counts as the program\'s";
  overrides.insert(overrides.end(), {"run.reduction=fast", "run.steps=1"});
  ASSERT_OK_AND_ASSIGN(const rl::ResolvedConfig resolved, ReadConfiguration(kWide, {.set = overrides}, ranks, nullptr));
  ASSERT_OK(kernels::InitializeIsa());
  const double estimated = BytesWithoutLibTorch(EstimateRunMemory(resolved.config, ranks), ranks);
  const double measured = PeakOfRun(resolved.config, ranks);
  std::printf("%d ranks: measured %.1f MiB, estimated %.1f MiB\n", ranks, measured / 1048576, estimated / 1048576);
  EXPECT_LT(std::fabs(measured - estimated), 0.1 * estimated);
}

TEST(FastMemoryTest, OneThreadUsesThePredictedMemory) { ExpectWithinATenth(1, {"execution.threads=1"}); }

TEST(FastMemoryTest, ThreadsAndMicroBatchesUseThePredictedMemory) {
  ExpectWithinATenth(1, {"execution.threads=2", "execution.micro_batch_tokens=64"});
}

TEST(FastMemoryTest, RanksUseThePredictedMemory) { ExpectWithinATenth(2, {"execution.threads=1"}); }

TEST(FastMemoryTest, LibTorchUsesMoreMemoryAndValidateReportsIt) {
  const std::string fast = "run.reduction=fast", narrow = "model.hidden_size=128";
  const ProcessResult result =
      RunProgramOnRanks({}, {"pipelines/validate", kWide, "--json", "--set", fast, "--set", narrow});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json memory = nlohmann::json::parse(result.out.substr(0, result.out.find('\n')));
  EXPECT_THAT(memory.at("not_predicted").get<std::string>(), HasSubstr("LibTorch"));
  const double reported = memory.at("total_bytes");
  const TrainedRun run = Train(kWide, {fast, narrow}, {});
  std::printf("measured %.1f, predicted %.1f MiB and LibTorch\n", static_cast<double>(run.counts.peak_memory) / 1048576,
              reported / 1048576);
  EXPECT_GT(static_cast<double>(run.counts.peak_memory), reported);
}

}  // namespace
}  // namespace reprise::testing
