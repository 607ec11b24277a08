// Promise: a run of thoughts has the same bits on any number of ranks and threads and with any micro-batch, and when it
// is replayed; thoughts and rewards do what docs/quiet_star.md says.

#include <string>
#include <vector>

#include "core/comm/self_communicator.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/check.h"
#include "rl/config/load.h"
#include "rl/run/prepare.h"
#include "rl/run/workloads.h"
#include "tests/workloads/training.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

Config ThoughtsConfigOf(const std::string& more = "", const std::string& thoughts = "") {
  return ConfigOf(
      "[run]\nworkload = \"quiet_star\"\nsteps = 2\nlogical_shards = 4\n"
      "[model]\nhidden_size = 8\nintermediate_size = 8\nnum_hidden_layers = 1\nnum_attention_heads = 2\n"
      "num_key_value_heads = 2\nnum_experts = 2\nnum_experts_per_tok = 1\nmax_position_embeddings = 48\n"
      "initializer_range = 0.2\n"
      "[data]\ntask = \"lookup\"\nmax_length = 2\nalphabet_size = 3\n"
      "[rollout]\nprompts_per_step = 5\nnum_generations = 2\n"
      "[optimizer]\nlearning_rate = 1e-2\nschedule = \"constant\"\n"
      "[quiet_star]\nmin_thought_length = 1\nmax_thought_length = 2\nbounded_mixing = true\n" +
      thoughts + more);
}

// Each with what it needs: a warm-up with thoughts, a value function of turns, a reference, evaluations with tests for
// theater, positions by difficulty.
struct Choice {
  const char *thoughts, *more;
};
const Choice kChoices[] = {
    {"positions = \"answer\"\n",
     "[algorithm]\nname = \"reinforce\"\nbaseline = \"step_none\"\ngamma = 0\n[warm_up]\nsteps = 2\nprompts_per_step = "
     "5\n"
     "[evaluation]\nevery = 1\nnum_prompts = 5\nnum_generations = 2\n"},
    {"reward = \"graded\"\nclamp_rewards = false\ntokens_ahead = 2\nvalue_hidden = \"8\"\n",
     "[algorithm]\nname = \"reinforce\"\nbaseline = \"value\"\nvalue_steps = \"turns\"\ngamma = 0.99\nbeta = 0.1\n"
     "kl_estimator = \"exact\"\n"},
    {"positions = \"difficult\"\ninjection_threshold = 0.5\ninjection_interval = 2\n",
     "[algorithm]\nname = \"reinforce\"\nbaseline = \"step_group_mean\"\ngamma = 0\n"},
    {"reward = \"binary\"\npositions = \"answer\"\nanti_theater = true\ncontinuation_tokens = 3\npaper_metrics = "
     "true\n",
     "[algorithm]\nname = \"grpo\"\n[evaluation]\nevery = 2\nnum_prompts = 5\nnum_generations = 0\n"},
};

Config ConfigOfChoice(const Choice& choice) { return ThoughtsConfigOf(choice.more, choice.thoughts); }

class QuietStarTest : public ::testing::TestWithParam<Choice> {};

TEST_P(QuietStarTest, RanksThreadsAndMicroBatchesChangeNoBit) {
  const Config config = ConfigOfChoice(GetParam());
  const std::vector<StepTables> steps = Train(config);
  ASSERT_EQ(static_cast<int64_t>(steps.size()), config.warm_up.steps + config.run.steps);
  ExpectSame(config, steps, Train(config, 3));
  Config other = config;
  other.execution.threads = 3;
  other.execution.micro_batch_tokens = 7;
  other.execution.decode_slots = 2;
  ExpectSame(config, steps, Train(other, 2));
}

TEST_P(QuietStarTest, AReplayComputesTheRecord) {
  const Config config = ConfigOfChoice(GetParam());
  const std::vector<StepTables> steps = Train(config);
  ExpectSame(config, steps, Train(config, 2, &steps));
}

INSTANTIATE_TEST_SUITE_P(Choices, QuietStarTest, ::testing::ValuesIn(kChoices));

// With its own threshold the original never thinks.
TEST(QuietStarRunTest, ThinksWhereTheTextIsDifficult) {
  const std::vector<StepTables> steps = Train(ConfigOfChoice(kChoices[2]));
  EXPECT_GT(MetricOf(steps.back(), "thoughts/positions"), 1);
  EXPECT_LT(MetricOf(steps.back(), "thoughts/positions"), 10);
}

// The original's policy is its own reference.
TEST(QuietStarRunTest, TheReferenceIsACopyThatTrainingDoesNotMove) {
  const std::vector<StepTables> steps = Train(ConfigOfChoice(kChoices[1]));
  EXPECT_EQ(MetricOf(steps.front(), "kl"), 0);
  EXPECT_GT(MetricOf(steps.back(), "kl"), 0);
}

TEST(QuietStarRunTest, DamageIsRefused) {
  const Config config = ConfigOfChoice(kChoices[0]);
  std::vector<StepTables> steps = Train(config);
  for (StreamTable& table : steps.back().tables) {
    if (table.schema().name == "thoughts") table.MutableValues<int64_t>(5)[0] = 99;  // a position behind the text
  }
  EXPECT_EQ(CheckTables(RecordSchemaOf(config), steps.back()).code(), absl::StatusCode::kDataLoss);
}

TEST(QuietStarRunTest, ATranscriptShowsThoughtsAtTheirPositions) {
  const Config config = ConfigOfChoice(kChoices[0]);
  ASSERT_OK_AND_ASSIGN(const RunParts parts, PrepareRun(config));
  SelfCommunicator comm;
  ASSERT_OK_AND_ASSIGN(const auto workload,
                       parts.workload->Start({.config = config, .comm = comm, .pool = *parts.pool}));
  ASSERT_OK_AND_ASSIGN(const std::string shown, workload->Transcript(0));
  EXPECT_THAT(shown, HasSubstr("text "));
  EXPECT_THAT(shown, HasSubstr(" behind \"=\": thought \""));
}

// Failed tests for theater end the run after as many evaluations as the patience.
TEST(QuietStarRunTest, TheaterCanEndTheRun) {
  Config config = ConfigOfChoice(kChoices[3]);
  config.run.steps = 9;
  config.quiet_star.anti_theater_patience = 2;
  const std::vector<StepTables> steps = Train(config);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(MetricOf(steps.back(), "eval_anti_theater_failures"), 2);
  EXPECT_EQ(MetricOf(steps.back(), "eval_anti_theater_all_passed"), 0);
}

TEST(QuietStarConfigTest, ValuesThatDoNotGoTogetherAreRefused) {
  const auto check = [](void (*choose)(Config&)) {
    Config config = ConfigOfChoice(kChoices[0]);
    choose(config);
    return CheckConfig(config, 1);
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_OK(check([](Config&) {}));
  EXPECT_THAT(check([](Config& c) { c.rollout.num_generations = 1; }), StatusIs(kInvalid, HasSubstr("a single one")));
  EXPECT_THAT(check([](Config& c) { c.quiet_star.min_thought_length = 3; }),
              StatusIs(kInvalid, HasSubstr("is more than quiet_star.max_thought_length 2")));
  EXPECT_THAT(check([](Config& c) { c.quiet_star.max_thought_length = 40; }),
              StatusIs(kInvalid, HasSubstr("max_position_embeddings 48")));
  EXPECT_THAT(check([](Config& c) { c.quiet_star.mixing = "attention"; }),
              StatusIs(kInvalid, HasSubstr("set it to graded or binary")));
  EXPECT_THAT(check([](Config& c) { c.algorithm.minibatches_of = "episodes"; }),
              StatusIs(kInvalid, HasSubstr("leave it groups")));
  EXPECT_THAT(check([](Config& c) { c.quiet_star.value_hidden = "8 x"; }),
              StatusIs(kInvalid, HasSubstr("\"x\" is not a width")));
  EXPECT_THAT(check([](Config& c) {
                c.quiet_star.anti_theater = true, c.quiet_star.anti_theater_patience = 1, c.evaluation.every = 0;
                c.quiet_star.theater.continuation_tokens = 3;
              }),
              StatusIs(kInvalid, HasSubstr("set evaluation.every")));
}

TEST(QuietStarConfigTest, AnotherWorkloadStoresNoneOfItsKeys) {
  EXPECT_EQ(CanonicalConfig(ConfigOf("")).find("quiet_star"), std::string::npos);
  const std::string canonical = CanonicalConfig(ThoughtsConfigOf());
  for (const char* other : {"data.path", "environment.", "lora.", "memory.", "algorithm.reward "}) {
    EXPECT_EQ(canonical.find(other), std::string::npos) << other;
  }
  EXPECT_NE(canonical.find("quiet_star.max_thought_length = 2"), std::string::npos) << canonical;
}

}  // namespace
}  // namespace reprise::rl
