// Promise: a run of the memory agent has the same bits on any number of ranks and threads and with any micro-batch, and
// when it is replayed; what it records is what was drawn; its policy learns.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/comm/self_communicator.h"
#include "core/testing/status_matchers.h"
#include "data/memory/operation.h"
#include "gtest/gtest.h"
#include "rl/config/check.h"
#include "rl/record/table_row.h"
#include "rl/run/prepare.h"
#include "rl/run/workloads.h"
#include "tests/workloads/memory_agent_config.h"
#include "tests/workloads/training.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

const char* const kAlgorithms[] = {
    "[algorithm]\nname = \"agemem\"\nnum_iterations = 2\nnum_mini_batches = 2\nminibatches_of = \"decisions\"\n",
    "[algorithm]\nname = \"grpo\"\nbeta = 0.1\nkl_estimator = \"exact\"\nnum_iterations = 2\n"
    "importance_correction = \"token_truncate\"\n[sft]\nsteps = 2\nprompts_per_step = 5\n",
    "[algorithm]\nname = \"reinforce\"\nbaseline = \"greedy\"\n",
    "[algorithm]\nname = \"ppo\"\nnum_mini_batches = 2\nminibatches_of = \"episodes\"\n[evaluation]\nevery = 2\n"
    "num_prompts = 4\nnum_generations = 2\n",
    "[algorithm]\nname = \"a2po\"\n",
    "[algorithm]\nname = \"agemem\"\nbeta = 0.1\n[lora]\nr = 2\ndropout = 0.2\n",
};

class MemoryAgentTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MemoryAgentTest, RanksThreadsAndMicroBatchesChangeNoBit) {
  const Config config = AgentConfig(GetParam(), "stage3_behaviour = \"guided\"\n");
  const std::vector<StepTables> steps = Train(config);
  ASSERT_EQ(static_cast<int64_t>(steps.size()), config.sft.steps + config.run.steps);
  for (const int ranks : {2, 4}) ExpectSame(config, steps, Train(config, ranks));
  Config other = config;
  other.execution.threads = 3;
  other.execution.micro_batch_tokens = 30;
  ExpectSame(config, steps, Train(other, 2));
}

TEST_P(MemoryAgentTest, AReplayComputesTheRecord) {
  const Config config = AgentConfig(GetParam(), "stage2_behaviour = \"heuristic\"\nstage3_behaviour = \"guided\"\n");
  const std::vector<StepTables> steps = Train(config);
  ExpectSame(config, steps, Train(config, 2, &steps));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, MemoryAgentTest, ::testing::ValuesIn(kAlgorithms));

class FactsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(FactsTest, RanksThreadsMicroBatchesAndAReplayChangeNoBit) {
  const Config config = FactsConfig(GetParam());
  const std::vector<StepTables> steps = Train(config);
  for (const int ranks : {2, 4}) ExpectSame(config, steps, Train(config, ranks));
  Config other = config;
  other.execution.threads = 3;
  other.execution.micro_batch_tokens = 50;
  ExpectSame(config, steps, Train(other, 2));
  ExpectSame(config, steps, Train(config, 2, &steps));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, FactsTest, ::testing::Values(kAlgorithms[0], kAlgorithms[1], kAlgorithms[3]));

TEST(FactsRunTest, MeasuresItsAnswers) {
  Config config = FactsConfig("[evaluation]\nevery = 3\nnum_prompts = 4\nnum_generations = 2\n");
  config.rollout.prompts_per_step = 40;  // of which a policy that has learned nothing answers some
  const StepTables last = Train(config).back();
  const StreamTable& answers = *last.Find("answers");
  double correct = 0;
  for (const uint8_t each : answers.Values<uint8_t>(7)) correct += each;
  EXPECT_EQ(answers.rows(), 160);
  EXPECT_GT(correct, 0);
  EXPECT_EQ(GetMetric(last, "memory/accuracy"), correct / 160);
  EXPECT_EQ(GetMetric(last, "memory/recall_bonus"), 0);
  EXPECT_GE(GetMetric(last, "eval_greedy_accuracy"), 0);
  EXPECT_LE(GetMetric(last, "eval_mean@2"), 1);
}

struct StoredEpisode {
  int64_t prompt = 0, sample = 0, total_steps = 0;
  std::vector<float> logprobs, behaviour_logprobs;
};

std::vector<StoredEpisode> ReadEpisodes(const StepTables& step) {
  std::vector<StoredEpisode> episodes;
  for (RowReader row(step.Find("episodes")); row.has_row(); row.Next()) {
    StoredEpisode& episode = episodes.emplace_back();
    row.Columns(episode.prompt, episode.sample, episode.total_steps, episode.logprobs, episode.behaviour_logprobs);
  }
  return episodes;
}

// Where operations are drawn uniformly, the policy's log-probability is not that of the draw.
TEST(MemoryAgentRecordTest, HasTheLogprobsOfThePolicyAndOfWhatWasDrawnFrom) {
  const std::vector<StepTables> steps = Train(AgentConfig());
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool explores = i < 2;  // stages 1 and 2
    for (const StoredEpisode& episode : ReadEpisodes(steps[i])) {
      ASSERT_EQ(static_cast<int64_t>(episode.logprobs.size()), episode.total_steps);
      ASSERT_EQ(static_cast<int64_t>(episode.behaviour_logprobs.size()), explores ? episode.total_steps : 0);
      for (size_t t = 0; t < episode.behaviour_logprobs.size(); ++t) {
        EXPECT_NEAR(episode.behaviour_logprobs[t], -1.791759, 1e-6);
        EXPECT_NE(episode.logprobs[t], episode.behaviour_logprobs[t]);
      }
    }
    EXPECT_EQ(GetMetric(steps[i], "sampling/sampling_logp_difference/max"), 0.0);
  }
}

TEST(MemoryAgentRecordTest, StatesNeverContainTheOperationThatFollows) {
  const std::vector<StepTables> steps = Train(AgentConfig());
  for (const StepTables& step : steps) {
    const StreamTable& decisions = *step.Find("decisions");
    for (int64_t row = 0; row < decisions.rows(); ++row) {
      // The history of the third stage is that of the operations before.
      std::string history;
      const int32_t turn = static_cast<int32_t>(decisions.Values<int64_t>(4)[row]);
      for (int64_t before = row - turn; before < row; ++before) {
        const int32_t action = decisions.Values<int32_t>(5)[before];
        absl::StrAppend(&history, history.empty() ? "'" : ", '",
                        data::NameOf(static_cast<data::MemoryOperation>(action)), "'");
      }
      const absl::string_view state = decisions.String(6, row);
      EXPECT_EQ(state.substr(0, 19), "operation: pending;");
      const size_t at = state.find("history: ");
      if (step.step < 3) {
        EXPECT_EQ(at, state.npos);
      } else {
        ASSERT_NE(at, state.npos);
        EXPECT_EQ(state.substr(at), "history: [" + history + "]");
      }
    }
  }
}

TEST(MemoryAgentRecordTest, AnOperationThatTheBehaviourDoesNotDrawIsCorruption) {
  const Config config = AgentConfig("", "stage3_behaviour = \"heuristic\"\n");
  std::vector<StepTables> steps = Train(config);
  for (StreamTable& table : steps[2].tables) {
    if (table.schema().name != "decisions") continue;
    for (int32_t& action : table.MutableValues<int32_t>(5)) action = 0;  // never one of the short-term memory
  }
  EXPECT_THAT(CheckTables(MakeRecordSchema(config), steps[2]),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not one of those that the behaviour")));
}

TEST(MemoryAgentRecordTest, LogprobsOfABehaviourThatTheStageDoesNotHaveAreCorruption) {
  const std::vector<StepTables> steps = Train(AgentConfig());
  EXPECT_THAT(CheckTables(MakeRecordSchema(AgentConfig("", "stage1_behaviour = \"policy\"\n")), steps[0]),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("log-probabilities of another")));
}

// Each operation is compared with the same one of the prompt's other episodes, so that the advantages of a place that
// all have add up to 0, and those of an episode differ.
TEST(MemoryAgentRecordTest, HasTheAdvantageOfEachOperation) {
  const std::vector<StepTables> steps = Train(AgentConfig("[algorithm]\nname = \"agemem\"\n"));
  const StreamTable& decisions = *steps[2].Find("decisions");
  const absl::Span<const double> advantages = decisions.Values<double>(*FindColumn(decisions.schema(), "advantage"));
  double sum = 0, first = 0;
  int64_t differ = 0;
  for (size_t row = 0; row < advantages.size(); ++row) {
    if (decisions.Values<int64_t>(4)[row] == 0) {
      sum += first = advantages[row];
    } else if (advantages[row] != first) {
      ++differ;
    }
  }
  EXPECT_NEAR(sum, 0, 1e-12);
  EXPECT_GT(differ, 10);
}

TEST(MemoryAgentRecordTest, AnOperationThatDoesNotExistIsCorruption) {
  const Config config = AgentConfig();
  std::vector<StepTables> steps = Train(config);
  for (StreamTable& table : steps[0].tables) {
    if (table.schema().name == "decisions") table.MutableValues<int32_t>(5)[0] = 6;
  }
  EXPECT_THAT(CheckTables(MakeRecordSchema(config), steps[0]),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its action is no operation")));
}

// The first stage has one state, and the second one for each place in an episode.
TEST(MemoryAgentDrawTest, StatesOfTheSameTextAreEncodedOnce) {
  const Config config = AgentConfig();
  auto parts = PrepareRun(config);
  ASSERT_OK(parts);
  SelfCommunicator comm;
  auto workload = parts->workload->Start({.config = config, .comm = comm, .pool = *parts->pool});
  ASSERT_OK(workload);
  const auto encoded = [&] { return (*workload)->execution_counts().at(0).second; };
  ASSERT_OK((*workload)->Draw({.step = 1, .begin = 0, .end = 5}));
  EXPECT_EQ(encoded(), 1);
  ASSERT_OK((*workload)->Draw({.step = 2, .begin = 0, .end = 5}));
  EXPECT_EQ(encoded(), 5);
}

TEST(MemoryAgentDrawTest, ATranscriptShowsAHeldOutEpisode) {
  const Config config = AgentConfig();
  auto parts = PrepareRun(config);
  ASSERT_OK(parts);
  SelfCommunicator comm;
  auto workload = parts->workload->Start({.config = config, .comm = comm, .pool = *parts->pool});
  ASSERT_OK(workload);
  ASSERT_OK_AND_ASSIGN(const std::string text, (*workload)->Transcript(0));
  EXPECT_THAT(text, HasSubstr("stage 3, "));
  EXPECT_THAT(text, HasSubstr("state  operation: pending; step: 0; total_steps: "));
}

TEST(MemoryAgentDrawTest, ATranscriptOfFactsHasTheQuestionAndTheAnswer) {
  const Config config = FactsConfig();
  auto parts = PrepareRun(config);
  ASSERT_OK(parts);
  SelfCommunicator comm;
  auto workload = parts->workload->Start({.config = config, .comm = comm, .pool = *parts->pool});
  ASSERT_OK(workload);
  ASSERT_OK_AND_ASSIGN(const std::string text, (*workload)->Transcript(0));
  EXPECT_THAT(text, HasSubstr("; message: The "));
  EXPECT_THAT(text, HasSubstr("\n  asked    Where is the "));
  EXPECT_THAT(text, HasSubstr("\n  answered "));
}

// Rewards are earned operation by operation where the algorithm gives each its own return, else as their mean.
TEST(MemoryAgentRewardTest, IsGivenByTurnWhereTheAlgorithmHasReturnsOfTokens) {
  const auto by_turn = [](const std::string& algorithm, const std::string& memory) {
    const Config config = AgentConfig(algorithm, memory);
    auto parts = PrepareRun(config);
    EXPECT_OK(parts);
    SelfCommunicator comm;
    auto workload = parts->workload->Start({.config = config, .comm = comm, .pool = *parts->pool});
    EXPECT_OK(workload);
    return (*workload)->rewards();
  };
  const RewardColumns composite = by_turn("[algorithm]\nname = \"agemem\"\n", "");
  EXPECT_EQ(composite.names_F, std::vector<std::string>{"composite"});
  EXPECT_EQ(composite.by_turn, 0u);
  EXPECT_EQ(by_turn("[algorithm]\nname = \"grpo\"\n", "").by_turn, std::nullopt);
  EXPECT_EQ(by_turn("[algorithm]\nname = \"ppo\"\n", "").by_turn, 0u);
  const RewardColumns outcome = by_turn("[algorithm]\nname = \"agemem\"\n", "reward = \"agemem\"\n");
  EXPECT_EQ(outcome.names_F, std::vector<std::string>{"agemem"});
  EXPECT_EQ(outcome.by_turn, std::nullopt);
}

// Random operations earn 0.54 on average, the best fixed sequence 1.05
// (rl/workloads/memory_agent/episode_report_test.cc): the policy closes three fifths of the gap.
TEST(MemoryAgentLearningTest, TheRewardRisesAndFailuresVanish) {
  Config config = AgentConfig("[algorithm]\nname = \"agemem\"\n");
  config.memory.stage1_steps = config.memory.stage2_steps = 0;
  config.run.steps = 40;
  config.rollout.prompts_per_step = 8;
  config.rollout.num_generations = 8;
  config.model.hidden_size = 32;
  config.optimizer.learning_rate = 5e-3;
  const std::vector<StepTables> steps = Train(config);
  EXPECT_LT(GetMetric(steps.front(), "reward"), 0.65);
  EXPECT_GT(GetMetric(steps.back(), "reward"), 0.85);
  EXPECT_GT(GetMetric(steps.front(), "memory/failed_operations"), 0.1);
  EXPECT_LT(GetMetric(steps.back(), "memory/failed_operations"), 0.05);
}

TEST(MemoryAgentEvaluationTest, MeasuresEveryStage) {
  const Config config = AgentConfig(
      "[evaluation]\nevery = 3\nnum_prompts = 6\nnum_generations = 2\nmetric_for_best_model = "
      "\"eval_stage3_reward\"\n");
  ASSERT_OK(CheckConfig(config, 1));
  const StepTables last = Train(config).back();
  for (const char* stage : {"1", "2", "3"}) {
    for (const char* policy : {"", "greedy_"}) {
      const std::string name = std::string("eval_stage") + stage + "_" + policy + "reward";
      EXPECT_GT(GetMetric(last, name), 0.2) << name;
      EXPECT_LT(GetMetric(last, name), 1.2) << name;
    }
  }
  EXPECT_EQ(GetMetric(last, "eval_stage1_failed_operations"), 0.0);
  EXPECT_EQ(GetMetric(last, "eval_best"), GetMetric(last, "eval_stage3_reward"));
  EXPECT_EQ(GetMetric(last, "eval_reward"), GetMetric(last, "eval_stage3_reward"));
}

}  // namespace
}  // namespace reprise::rl
