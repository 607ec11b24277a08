// Promise: a run of thoughts has the same bits on any number of ranks and threads and with any micro-batch, and when it
// is replayed; thoughts and rewards do what docs/quiet_star.md says.

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "core/comm/self_communicator.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/check.h"
#include "rl/config/load.h"
#include "rl/config/preset_testing.h"
#include "rl/run/prepare.h"
#include "rl/run/workloads.h"
#include "tests/workloads/thinking_run.h"
#include "tests/workloads/training.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// Each with what it needs: an SFT phase with thoughts, a value function of turns, a reference, evaluations with tests
// for theater, positions by difficulty without and with the attention's, the latter with turns of the same weight;
// adapters with an SFT phase that converges and a divergence of the baked copy.
struct Choice {
  const char *thoughts, *more;
};
const Choice kChoices[] = {
    {"positions = \"answer\"\n",
     "[algorithm]\nname = \"reinforce\"\nbaseline = \"step_none\"\ngamma = 0\n[sft]\nsteps = 2\nprompts_per_step = "
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
    {"positions = \"difficult\"\ninjection_threshold = 0.5\ninjection_interval = 2\nattention_dispersion = true\n",
     "[algorithm]\nname = \"reinforce\"\nbaseline = \"step_group_mean\"\ngamma = 0\naggregation = \"turn_mean\"\n"},
    {"positions = \"answer\"\nreward = \"graded\"\nkl_direction = \"copy_from_policy\"\ncounted = \"answer\"\n"
     "plain_share = 0.5\nbaking_convergence = 0.3\nbaking_window = 2\n",
     "[algorithm]\nname = \"reinforce\"\nbaseline = \"step_none\"\ngamma = 0\nbeta = 0.1\nkl_estimator = \"exact\"\n"
     "[lora]\nr = 4\ndropout = 0\n[sft]\nsteps = 60\nprompts_per_step = 5\nlearning_rate = 5e-2\n"},
};

Config ConfigOfChoice(const Choice& choice) { return MakeThoughtsConfig(choice.more, choice.thoughts); }

class QuietStarTest : public ::testing::TestWithParam<Choice> {};

TEST_P(QuietStarTest, RanksThreadsAndMicroBatchesChangeNoBit) {
  const Config config = ConfigOfChoice(GetParam());
  const std::vector<StepTables> steps = Train(config);
  const bool converges = config.quiet_star.baking_convergence > 0;
  const int64_t most = config.sft.steps + config.run.steps;
  ASSERT_EQ(static_cast<int64_t>(steps.size()) < most, converges);
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
  EXPECT_GT(GetMetric(steps.back(), "thoughts/positions"), 1);
  EXPECT_LT(GetMetric(steps.back(), "thoughts/positions"), 10);
}

// With a model that knows nothing, entropies are nearly the greatest, and losses a long way from 10 nats.
TEST(QuietStarRunTest, EvaluationsLeaveTheLossOutOfTheDifficulty) {
  Config config = MakeThoughtsConfig(
      "[algorithm]\nname = \"reinforce\"\nbaseline = \"step_group_mean\"\ngamma = 0\n"
      "[evaluation]\nevery = 1\nnum_prompts = 3\nnum_generations = 2\n",
      "positions = \"difficult\"\ninjection_threshold = 0.9\ninjection_interval = 2\n");
  config.model.initializer_range = 0.01;
  config.run.steps = 1;
  const std::vector<StepTables> steps = Train(config);
  EXPECT_EQ(GetMetric(steps.back(), "thoughts/positions"), 0);
  EXPECT_GT(GetMetric(steps.back(), "eval_completions/mean_length"), 1) << "tokens of thoughts";
}

// Thoughts have one or two tokens.
TEST(QuietStarRunTest, ThoughtsOfDifferentLengthsMayHaveTheSameWeight) {
  Config config = ConfigOfChoice(kChoices[4]);
  const std::vector<StepTables> by_thought = Train(config);
  SetAggregation(Aggregation::kGrpo, &config.algorithm);
  const std::vector<StepTables> by_token = Train(config);
  EXPECT_EQ(GetMetric(by_thought[0], "entropy"), GetMetric(by_token[0], "entropy"));
  EXPECT_NE(GetMetric(by_thought[0], "grad_norm"), GetMetric(by_token[0], "grad_norm"));
}

// The original's policy is its own reference.
TEST(QuietStarRunTest, TheReferenceIsACopyThatTrainingDoesNotMove) {
  const std::vector<StepTables> steps = Train(ConfigOfChoice(kChoices[1]));
  EXPECT_EQ(GetMetric(steps.front(), "kl"), 0);
  EXPECT_GT(GetMetric(steps.back(), "kl"), 0);
}

TEST(QuietStarRunTest, CorruptionIsRejected) {
  const Config config = ConfigOfChoice(kChoices[0]);
  std::vector<StepTables> steps = Train(config);
  for (StreamTable& table : steps.back().tables) {
    if (table.schema().name == "thoughts") table.MutableValues<int64_t>(5)[0] = 99;  // a position behind the text
  }
  EXPECT_EQ(CheckTables(MakeRecordSchema(config), steps.back()).code(), absl::StatusCode::kDataLoss);
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
  EXPECT_EQ(GetMetric(steps.back(), "eval_anti_theater_failures"), 2);
  EXPECT_EQ(GetMetric(steps.back(), "eval_anti_theater_all_passed"), 0);
}

TEST(QuietStarRunTest, ASftThatConvergesGoesOnFromEachOfItsSteps) {
  const Config config = ConfigOfChoice(kChoices[5]);
  StateSink whole;
  const std::vector<float> weights = RunFrom(config, nullptr, &whole);
  const size_t taken = whole.steps.size() - static_cast<size_t>(config.run.steps);
  ASSERT_GE(taken, 2u);
  EXPECT_EQ(GetMetric(whole.steps[taken - 1], "sft/steps_not_taken"),
            static_cast<double>(config.sft.steps) - static_cast<double>(taken));
  EXPECT_GE(GetMetric(whole.steps[taken - 1], "sft/window_mean"), 0.3);
  for (size_t from : {size_t{0}, taken / 2, taken - 2, taken - 1, taken}) {
    StateSink rest;
    EXPECT_EQ(RunFrom(config, &whole.states[from], &rest), weights) << from;
    ExpectSame(config, rest.steps, {whole.steps.begin() + static_cast<int64_t>(from) + 1, whole.steps.end()});
  }
  // The steps that were taken are those of an SFT phase without a threshold.
  Config plain = config;
  plain.quiet_star.baking_convergence = 0;
  plain.sft.steps = static_cast<int64_t>(taken);
  StateSink as_many;
  EXPECT_EQ(RunFrom(plain, nullptr, &as_many), weights);
}

// After failed tests for theater the model can have the weights of the last evaluation that passed, or of the best one.
TEST(QuietStarRunTest, TheaterCanRollTheModelBack) {
  Config config = ConfigOfChoice(kChoices[3]);
  config.run.steps = 9;
  config.quiet_star.anti_theater_patience = 2;
  config.evaluation.metric_for_best_model = "eval_anti_theater_ablation";
  config.evaluation.load_best_model_at_end = true;
  StateSink sink;
  const std::vector<float> weights = RunFrom(config, nullptr, &sink);
  ASSERT_EQ(sink.steps.size(), 4u);
  const size_t best = static_cast<size_t>(GetMetric(sink.steps.back(), "eval_best_step"));
  ASSERT_EQ(best, 2u);
  EXPECT_EQ(weights, sink.states[best - 1].weights);
  EXPECT_NE(weights, sink.states.back().weights);
}

TEST(QuietStarConfigTest, ValuesThatDoNotGoTogetherAreRejected) {
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
              StatusIs(kInvalid, HasSubstr("48 positions (model.max_position_embeddings)")));
  EXPECT_THAT(check([](Config& c) { c.quiet_star.mixing = ThoughtMixing::kAttention; }),
              StatusIs(kInvalid, HasSubstr("set it to graded or binary")));
  for (const char* reward : {"graded", "binary"}) {
    for (const char* baseline : {"group_mean", "leave_one_out", "step_group_mean", "step_leave_one_out"}) {
      Config config = ConfigOfChoice(kChoices[0]);
      config.quiet_star.mixing = ThoughtMixing::kAttention;
      config.quiet_star.reward = reward[0] == 'g' ? ThoughtReward::kGraded : ThoughtReward::kBinary;
      config.algorithm.advantage.baseline = ParseBaseline(baseline).value();
      EXPECT_THAT(CheckConfig(config, 1), StatusIs(kInvalid, HasSubstr("would learn nothing from it: set it to "
                                                                       "step_none or value")))
          << reward << " " << baseline;
      config.algorithm.advantage.baseline = Baseline::kStepNone;
      EXPECT_OK(CheckConfig(config, 1));
    }
  }
  EXPECT_THAT(check([](Config& c) { c.algorithm.advantage.baseline = Baseline::kGreedy; }),
              StatusIs(kInvalid, HasSubstr("algorithm.baseline greedy compares whole episodes, but thoughts are "
                                           "rewarded one by one: choose step_none, step_group_mean or value")));
  for (const char* name : {"remax", "a2po"}) {
    Config config = MakeThoughtsConfig();
    config.algorithm = AlgorithmConfig();
    SelectPreset(name, &config.algorithm);
    EXPECT_THAT(CheckConfig(config, 1), StatusIs(kInvalid, HasSubstr("compares whole episodes"))) << name;
  }
  EXPECT_THAT(check([](Config& c) { c.algorithm.update.unit = MinibatchUnit::kEpisode; }),
              StatusIs(kInvalid, HasSubstr("leave it groups")));
  EXPECT_THAT(check([](Config& c) { c.lora.r = 2; }), StatusIs(kInvalid, HasSubstr("lora.dropout 0.05 drops inputs")));
  EXPECT_THAT(check([](Config& c) { c.quiet_star.value_hidden = "8 x"; }),
              StatusIs(kInvalid, HasSubstr("\"x\" is not a width")));
  EXPECT_THAT(check([](Config& c) {
                c.quiet_star.anti_theater = true, c.quiet_star.anti_theater_patience = 1, c.evaluation.every = 0;
                c.quiet_star.theater.continuation_tokens = 3;
              }),
              StatusIs(kInvalid, HasSubstr("set evaluation.every")));
}

std::string CollectWarnings(const Config& config, RunUse use = RunUse::kTraining) {
  const absl::StatusOr<RunParts> parts = PrepareRun(config, 1, use);
  EXPECT_OK(parts);
  return absl::StrJoin(parts->warnings, "\n");
}

// The rate of an SFT phase is that of training times sft.learning_rate / optimizer.learning_rate.
TEST(QuietStarConfigTest, WarnsOfRatesThatASftDoesNotStand) {
  Config config = ConfigOfChoice(kChoices[0]);
  config.optimizer.name = OptimizerName::kMuonGrokfast;
  config.optimizer.learning_rate = 1e-6;
  EXPECT_EQ(CollectWarnings(config),
            "the SFT updates vectors, embeddings and heads, which are AdamW's, with a learning rate of 1: "
            "optimizer.fallback_learning_rate 0.001 x sft.learning_rate 0.001 / optimizer.learning_rate 1e-06: set "
            "optimizer.fallback_learning_rate or sft.learning_rate lower, or optimizer.learning_rate higher");
  EXPECT_EQ(CollectWarnings(config, RunUse::kEvaluation), "");
  config.optimizer.fallback_learning_rate = 9e-5;
  EXPECT_EQ(CollectWarnings(config), "") << "0.09";
  config.optimizer.learning_rate = 0;
  EXPECT_THAT(CollectWarnings(config), HasSubstr("with a learning rate of 0: "));
  EXPECT_THAT(CollectWarnings(config), HasSubstr("set optimizer.learning_rate above 0"));
  config.optimizer.fallback_learning_rate = 0;
  EXPECT_EQ(CollectWarnings(config), "") << "as was asked for";
  config.optimizer.fallback_learning_rate = 1;
  config.sft.steps = 0;
  EXPECT_EQ(CollectWarnings(config), "");
  config.sft.steps = 2;
  config.optimizer.name = OptimizerName::kAdamW;
  EXPECT_EQ(CollectWarnings(config), "");
}

TEST(QuietStarConfigTest, AnotherWorkloadStoresNoneOfItsKeys) {
  EXPECT_EQ(CanonicalConfig(ConfigOf("")).find("quiet_star"), std::string::npos);
  const std::string canonical = CanonicalConfig(MakeThoughtsConfig());
  for (const char* other : {"data.path", "environment.", "memory.", "algorithm.reward "}) {
    EXPECT_EQ(canonical.find(other), std::string::npos) << other;
  }
  EXPECT_NE(canonical.find("quiet_star.max_thought_length = 2"), std::string::npos) << canonical;
}

}  // namespace
}  // namespace reprise::rl
