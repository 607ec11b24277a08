// Promise: a run of the bandit has the same bits on any number of ranks and threads and with any micro-batch, and when
// it is replayed or resumed; its policy learns with every algorithm.

#include <string>
#include <vector>

#include "core/comm/testing/thread_communicator.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/check.h"
#include "rl/config/load.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"
#include "rl/run/workloads.h"
#include "tests/workloads/training.h"

namespace reprise::rl {
namespace {

Config MakeBanditConfig(const std::string& more = "") {
  return ConfigOf(
      "[run]\nworkload = \"bandit\"\nsteps = 4\nlogical_shards = 4\n"
      "[bandit]\nfeatures = 4\nactions = 5\nhidden = \"8 6\"\nactivation = \"tanh\"\n"
      "[rollout]\nprompts_per_step = 7\nnum_generations = 4\n"
      "[optimizer]\nlearning_rate = 1e-2\nschedule = \"constant\"\n" +
      more);
}

const char* const kAlgorithms[] = {
    "[algorithm]\nname = \"grpo\"\nbeta = 0.1\nnum_iterations = 2\n[sft]\nsteps = 2\nprompts_per_step = 5\n",
    "[algorithm]\nname = \"reinforce\"\nbaseline = \"greedy\"\n",
    "[algorithm]\nname = \"ppo\"\nnum_mini_batches = 2\nminibatches_of = \"episodes\"\n[evaluation]\nevery = 2\n",
    "[algorithm]\nname = \"a2po\"\n",
    "[algorithm]\nname = \"agemem\"\nmini_batch_size = 6\nminibatches_of = \"decisions\"\n",
    "[algorithm]\nname = \"grpo\"\nbeta = 0.1\nkl_estimator = \"exact\"\n",
};

class BanditTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BanditTest, RanksThreadsAndMicroBatchesChangeNoBit) {
  const Config config = MakeBanditConfig(GetParam());
  const std::vector<StepTables> steps = Train(config);
  ASSERT_EQ(static_cast<int64_t>(steps.size()), config.sft.steps + config.run.steps);
  for (const int ranks : {2, 3, 4}) ExpectSame(config, steps, Train(config, ranks));
  Config other = config;
  other.execution.threads = 3;
  other.execution.micro_batch_tokens = 5;
  ExpectSame(config, steps, Train(other, 2));
}

TEST_P(BanditTest, AReplayComputesTheRecord) {
  const Config config = MakeBanditConfig(GetParam());
  const std::vector<StepTables> steps = Train(config);
  ExpectSame(config, steps, Train(config, 2, &steps));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, BanditTest, ::testing::ValuesIn(kAlgorithms));

TEST(BanditLearningTest, TheRewardRises) {
  for (const std::string name : {"grpo", "reinforce", "ppo"}) {
    Config config = MakeBanditConfig("[algorithm]\nname = \"" + name + "\"\n");
    config.run.steps = 60;
    config.rollout.prompts_per_step = 32;
    const std::vector<StepTables> steps = Train(config);
    EXPECT_LT(GetMetric(steps.front(), "reward"), 0.6) << name;
    EXPECT_GT(GetMetric(steps.back(), "reward"), 0.75) << name;
  }
}

// An episode has one decision, so that the constant divisor of dr_grpo is that of the mean over sequences.
TEST(BanditLossTest, DrGrpoDividesByOneDecision) {
  const auto gradient = [](const std::string& loss_type) {
    return GetMetric(Train(MakeBanditConfig("[algorithm]\nloss_type = \"" + loss_type + "\"\n")).front(), "grad_norm");
  };
  EXPECT_NEAR(gradient("dr_grpo") / gradient("grpo"), 1, 1e-5);
}

TEST(BanditConfigTest, AMinibatchHasAtMostTheStepsDecisions) {
  Config config = MakeBanditConfig("[algorithm]\nmini_batch_size = 28\nminibatches_of = \"decisions\"\n");
  EXPECT_OK(CheckConfig(config, 1));
  config.algorithm.update.mini_batch_size = 29;
  EXPECT_THAT(CheckConfig(config, 1), testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                                        ::testing::HasSubstr("29 is more than the 28 decisions")));
}

TEST(BanditConfigTest, ValuesThatDoNotGoTogetherAreRejected) {
  const auto check = [](BanditConfig bandit) {
    Config config = MakeBanditConfig();
    config.bandit = std::move(bandit);
    return CheckConfig(config, 1);
  };
  using ::testing::HasSubstr;
  using testing::StatusIs;
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_OK(check({.features = 4096, .actions = 4000}));
  EXPECT_THAT(check({.features = 65536, .actions = 65536}), StatusIs(kInvalid, HasSubstr("use fewer of one of them")));
  EXPECT_THAT(check({.hidden = "64 6x"}), StatusIs(kInvalid, HasSubstr("bandit.hidden: \"6x\" is not a width")));
  EXPECT_THAT(check({.hidden = "65537"}), StatusIs(kInvalid, HasSubstr("from 1 to 65536")));
  EXPECT_THAT(check({.hidden = "4096 4097"}), StatusIs(kInvalid, HasSubstr("use narrower hidden layers, or fewer")));
}

TEST(BanditConfigTest, StoresOnlyTheKeysThatItReads) {
  const std::string canonical = CanonicalConfig(MakeBanditConfig());
  EXPECT_NE(canonical.find("\nbandit.hidden = \"8 6\"\n"), std::string::npos) << canonical;
  for (const char* other : {"model.", "data.", "rollout.top_k", "algorithm.reward "}) {
    EXPECT_EQ(canonical.find(other), std::string::npos) << other;
  }
}

TEST(BanditReplayTest, AnActionThatIsNotAllowedIsCorruption) {
  const Config config = MakeBanditConfig();
  std::vector<StepTables> steps = Train(config);
  for (StreamTable& table : steps[0].tables) {
    if (table.schema().name == "episodes") table.MutableValues<int32_t>(4)[0] = 99;
  }
  EXPECT_EQ(CheckTables(MakeRecordSchema(config), steps[0]).code(), absl::StatusCode::kDataLoss);
}

// A run that continues draws the steps after its record, but none inside it.
TEST(BanditReplayTest, AStepThatTheRecordLacksIsDrawnOnlyAfterItsEnd) {
  const Config config = MakeBanditConfig();
  const std::vector<StepTables> steps = Train(config);
  TableSink sink;  // of the live steps
  const auto continue_from = [&](const std::vector<StepTables>& records) {
    return RunAsRanks(1, [&](Communicator& comm) -> absl::Status {
      auto parts = PrepareRun(config);
      if (!parts.ok()) return parts.status();
      const auto execution = Execution::Create({.config = config,
                                                .parts = *parts,
                                                .comm = comm,
                                                .sink = &sink,
                                                .records = &records,
                                                .resume = [](const StepTables&) {}});
      if (!execution.ok()) return execution.status();
      return (*execution)->learner().Run(0);
    });
  };
  EXPECT_OK(continue_from({steps[0], steps[1]}));
  ExpectSame(config, {steps[2], steps[3]}, sink.steps);
  EXPECT_THAT(continue_from({steps[0], steps[2]}),
              testing::StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("the run contains no step 2")));
}

}  // namespace
}  // namespace reprise::rl
