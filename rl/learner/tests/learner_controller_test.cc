// Trains a controller: episodes of several masked choices with rewards for each, which a limit ends. Its policy
// remembers the episode and normalises features; the algorithm is PPO with the options of controllers.

#include <algorithm>
#include <any>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/comm/testing/thread_communicator.h"
#include "core/random/draw.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "kernels/sampling/sampling.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/learner.h"
#include "rl/policy/categorical/categorical_policy.h"
#include "rl/record/table_row.h"

namespace reprise::rl {
namespace {

constexpr int64_t kFeatures = 4, kActions = 4;
constexpr uint64_t kSeed = 11;

// The reward of a choice is the feature of its index, less 0.3 where the same action was chosen before. Features are
// large, so that it matters whether they are normalised.
class ControllerWorkload : public Workload {
 public:
  explicit ControllerWorkload(CategoricalPolicy& policy) : policy_(policy) {
    schema_.streams = OwnStreams();
    for (StreamSchema& stream : ResultStreams(/*has_counts=*/false)) schema_.streams.push_back(std::move(stream));
  }

  Policy& policy() override { return policy_; }
  const RewardColumns& rewards() const override { return rewards_; }
  bool may_lack_decisions() const override { return false; }

  absl::StatusOr<StepEpisodes> Draw(const StepPart& part) override {
    StepEpisodes drawn;
    for (int64_t prompt = part.begin; prompt < part.end; ++prompt) {
      drawn.task_P.push_back({prompt});
      drawn.episode_N.push_back(Play(part.step, prompt));
      drawn.num_tokens += drawn.episode_N.back().decisions.count;
    }
    return drawn;
  }
  absl::Status Reward(absl::Span<const TaskRecord>, absl::Span<EpisodeRecord> episode_N) override {
    for (EpisodeRecord& episode : episode_N) {
      episode.reward = 0;
      for (const double earned : episode.earned_T) episode.reward += earned;
      episode.rewards_F = {episode.reward};
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<double>> PromptBaselines(const PromptBaselineRequest&,
                                                      const std::vector<TaskRecord>&) override {
    return absl::InvalidArgumentError("none");
  }
  absl::StatusOr<Metrics> Evaluate(int64_t, int64_t) override { return Metrics(); }
  const RecordSchema& schema() const override { return schema_; }
  std::vector<StreamTable> EncodeStep(StepRecord part) override {
    std::vector<StreamTable> tables = EmptyTables(OwnStreams());
    for (const EpisodeRecord& e : part.episode_N) {
      RowWriter(part.phase, part.step, tables[0])
          .Columns(e.prompt, e.decisions.count, e.reward, e.advantage, e.logprobs);
    }
    return tables;
  }
  absl::StatusOr<StepRecord> DecodeStep(const StepTables& step) const override {
    StepRecord record;
    for (RowReader row(step.Find("episodes")); row.has_row(); row.Next()) {
      EpisodeRecord e;
      row.Columns(e.prompt, e.decisions.count, e.reward, e.advantage, e.logprobs);
      e.rewards_F = {e.reward};
      record.task_P.push_back({e.prompt});
      record.episode_N.push_back(std::move(e));
    }
    return record;
  }
  void AddMetrics(const AlgorithmConfig&, const StepRecord&, Metrics*) const override {}
  NamedCounts execution_counts() const override { return {}; }

 private:
  static std::vector<StreamSchema> OwnStreams() {
    return {RecordStream("episodes", {ScalarColumn("prompt", DType::kI64), ScalarColumn("count", DType::kI64),
                                      ScalarColumn("reward", DType::kF64), ScalarColumn("advantage", DType::kF64),
                                      RaggedColumn("logprobs", DType::kF32)})};
  }

  EpisodeRecord Play(int64_t step, int64_t prompt) const {
    EpisodeRecord episode;
    episode.prompt = prompt;
    episode.decisions.count = 4 + prompt % 3;  // ended by a limit
    FeatureDecisions content;
    models::LstmState memory;
    kernels::SamplingWorkspace workspace;
    int32_t before = -1;
    for (int64_t t = 0;; ++t) {
      DrawAt at = {.step = static_cast<uint64_t>(step), .prompt = static_cast<uint64_t>(prompt)};
      at.turn = static_cast<uint64_t>(t);
      std::vector<float> feature_F;
      for (at.token = 1; at.token <= kFeatures; ++at.token) {
        feature_F.push_back(static_cast<float>(3 + 2 * DrawUniform(kSeed, Purpose::kTest, at)));
      }
      content.feature_TF.insert(content.feature_TF.end(), feature_F.begin(), feature_F.end());
      if (t == episode.decisions.count) break;
      const std::vector<uint8_t> allowed_A =
          t % 2 == 0 ? std::vector<uint8_t>{1, 1, 1, 0} : std::vector<uint8_t>{1, 0, 1, 1};
      std::vector<float> logit_A(kActions);
      policy_.NextLogits(feature_F, allowed_A, &memory, absl::MakeSpan(logit_A));
      at.token = 0;
      const kernels::SampledToken drawn =
          kernels::SampleToken(kActions, logit_A.data(), {}, DrawUniform(kSeed, Purpose::kTest, at), &workspace);
      content.allowed_TA.insert(content.allowed_TA.end(), allowed_A.begin(), allowed_A.end());
      content.action_T.push_back(drawn.token);
      episode.logprobs.push_back(drawn.logprob);
      const double earned = static_cast<double>(feature_F[drawn.token]) - 4;
      episode.earned_T.push_back(earned - (drawn.token == before ? 0.3 : 0.0));
      before = drawn.token;
    }
    episode.content = std::move(content);
    return episode;
  }

  CategoricalPolicy& policy_;
  RecordSchema schema_;
  const RewardColumns rewards_ = {{"match"}, {1.0}, size_t{0}};
};

// Keeps the state after each step, and its metrics.
class StateSink : public StepSink {
 public:
  absl::StatusOr<bool> Commit(const StepTables& step) override {
    metrics.push_back(ReadResults(step).metrics);
    return true;
  }
  bool WantsCheckpoint(Phase, int64_t, bool) override { return false; }
  absl::Status Checkpoint(const PolicyState&) override { return absl::OkStatus(); }
  bool WantsState(Phase, int64_t, bool) override { return true; }
  absl::Status SaveState(const PolicyState& state) override {
    const auto flat = [](const std::vector<TensorView>& tensors) {
      std::vector<float> values;
      for (const TensorView& tensor : tensors) {
        values.insert(values.end(), tensor.data<float>().begin(), tensor.data<float>().end());
        values.resize((values.size() + 15) / 16 * 16);  // as FlatLayout pads
      }
      return values;
    };
    LearnerState& kept = states.emplace_back();
    kept.phase = state.phase, kept.step = state.step;
    kept.updates = state.updates, kept.num_tokens = state.num_tokens;
    kept.weights = flat(state.weights);
    for (const TensorGroup& group : state.optimizer) kept.optimizer.push_back({group.name, flat(group.tensors)});
    kept.schedules = state.schedules;
    return absl::OkStatus();
  }

  std::vector<LearnerState> states;
  std::vector<Metrics> metrics;
};

Config SmallRun() {
  Config config;
  config.run.workload = "memory_agent";  // of which only the name is read
  config.run.steps = 4;
  config.run.logical_shards = 4;
  config.rollout.prompts_per_step = 9;
  config.rollout.num_generations = 1;
  AlgorithmConfig& a = config.algorithm;
  SelectPreset("ppo", &a), SetBeta(0, &a), a.advantage.gamma = 0.99, a.value.vf_coef = 0.5, a.update.num_iterations = 3;
  a.update.mini_batch_size = 16, a.update.unit = MinibatchUnit::kDecision,
  a.advantage.scales_by_running_deviation = true, a.diagnostics = true;
  a.entropy.entropy_coef = 0.05, a.entropy.floor = 0.04, a.entropy.floor_by_mask = true;
  config.optimizer.learning_rate = 3e-3, config.optimizer.epsilon = 1e-5,
  config.optimizer.schedule = Schedule::kConstant;
  config.optimizer.weight_decay = 0.1, config.optimizer.weight_decay_on = DecayedTensors::kValues;
  return config;
}

CategoricalShape Shape() {
  return {.features = kFeatures,
          .actions = kActions,
          .hidden = {8},
          .has_values = true,
          .trunk = {12},
          .lstm = 8,
          .lstm_chunk = 3,
          .orthogonal = true,
          .normalizes_features = true,
          .normalizes_entropy = true};
}

StateSink Trained(const Config& config, int ranks = 1, int threads = 1, const LearnerState* from = nullptr) {
  StateSink sink;
  EXPECT_OK(RunAsRanks(ranks, [&](Communicator& comm) -> absl::Status {
    CategoricalPolicy policy(Shape(), kSeed, 1.0f);
    ControllerWorkload workload(policy);
    ThreadPool pool(threads);
    const LearnerDeps parts = {config, workload, comm.rank() == 0 ? &sink : nullptr, comm, pool};
    absl::StatusOr<std::unique_ptr<Learner>> learner = Learner::Create(parts);
    if (!learner.ok()) return learner.status();
    if (from != nullptr) (*learner)->Restore(*from);
    return (*learner)->Run(0);
  }));
  return sink;
}

void ExpectSame(const LearnerState& a, const LearnerState& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.updates, b.updates);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.schedules, b.schedules);
  ASSERT_EQ(a.optimizer.size(), b.optimizer.size());
  for (size_t g = 0; g < a.optimizer.size(); ++g) EXPECT_EQ(a.optimizer[g].values, b.optimizer[g].values);
}

double GetMetric(const Metrics& metrics, absl::string_view name) {
  for (const auto& [key, value] : metrics) {
    if (key == name) return value;
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

TEST(LearnerControllerTest, RanksThreadsAndMicroBatchesChangeNoBit) {
  const StateSink expected = Trained(SmallRun());
  ASSERT_EQ(expected.states.size(), 4u);
  for (const auto& [ranks, threads, rows] : {std::tuple(1, 3, 7), std::tuple(2, 1, 1), std::tuple(3, 2, 0)}) {
    Config config = SmallRun();
    config.execution.micro_batch_tokens = rows;
    const StateSink sink = Trained(config, ranks, threads);
    ASSERT_EQ(sink.states.size(), 4u);
    for (size_t i = 0; i < 4; ++i) ExpectSame(expected.states[i], sink.states[i]);
    EXPECT_EQ(expected.metrics, sink.metrics);
  }
}

TEST(LearnerControllerTest, ARunResumedAfterAnyStepEndsInTheSameBits) {
  const StateSink expected = Trained(SmallRun());
  for (size_t i = 0; i + 1 < expected.states.size(); ++i) {
    const StateSink resumed = Trained(SmallRun(), /*ranks=*/2, /*threads=*/1, &expected.states[i]);
    ASSERT_FALSE(resumed.states.empty());
    ExpectSame(expected.states.back(), resumed.states.back());
  }
  // Negative control: a state that has lost its statistics of rewards, or of features, ends in others.
  LearnerState lossy = expected.states[1];
  ASSERT_EQ(lossy.schedules.size(), 9u);
  lossy.schedules[8] = 0;
  EXPECT_NE(Trained(SmallRun(), 1, 1, &lossy).states.back().weights, expected.states.back().weights);
  lossy = expected.states[1];
  EXPECT_NE(lossy.weights[0], 0.0f);
  lossy.weights[0] = 0;
  EXPECT_NE(Trained(SmallRun(), 1, 1, &lossy).states.back().weights, expected.states.back().weights);
}

// Of the 45 decisions of a step, each mean is about 4 and each variance 1 / 3.
TEST(LearnerControllerTest, StatisticsFollowFeaturesAndRewardsOfEachStepAndNeverDecay) {
  const StateSink sink = Trained(SmallRun());
  double mean = 0;
  for (size_t i = 0; i < sink.states.size(); ++i) {
    mean = 0.99 * mean + 0.01 * 4;
    for (size_t f = 0; f < kFeatures; ++f) EXPECT_NEAR(sink.states[i].weights[f], mean, 0.01);
    EXPECT_EQ(sink.states[i].schedules[6], 45.0 * static_cast<double>(i + 1));  // decisions with rewards
  }
}

TEST(LearnerControllerTest, EarlyStoppingByIterationsMakesAllUpdatesOfAnIteration) {
  Config config = SmallRun();
  config.algorithm.update.num_iterations = 5;
  config.run.steps = 1;
  const auto updates_of = [&](EarlyStop of, double target_kl) {
    config.algorithm.update.target_kl = target_kl, config.algorithm.update.target_kl_of = of;
    const StateSink sink = Trained(config);
    return std::pair(sink.states.back().updates, GetMetric(sink.metrics.back(), "iterations"));
  };
  // 45 decisions are three minibatches of at most 16. The first update of a step is always made.
  EXPECT_EQ(updates_of(EarlyStop::kMinibatch, 1e-12), std::pair(int64_t{1}, 1.0));
  EXPECT_EQ(updates_of(EarlyStop::kIteration, 1e-12), std::pair(int64_t{3}, 1.0));
  EXPECT_EQ(updates_of(EarlyStop::kIteration, 1e12), std::pair(int64_t{15}, 5.0));
}

TEST(LearnerControllerTest, DiagnosticsReportTheSpreadOfRatiosAndAdvantages) {
  const Metrics metrics = Trained(SmallRun()).metrics.back();
  EXPECT_LT(GetMetric(metrics, "ratio/min"), 1);
  EXPECT_GT(GetMetric(metrics, "ratio/max"), 1);
  EXPECT_GT(GetMetric(metrics, "ratio/std"), 0);
  EXPECT_LT(GetMetric(metrics, "ratio/std"), GetMetric(metrics, "ratio/max") - GetMetric(metrics, "ratio/min"));
  EXPECT_GT(GetMetric(metrics, "critic/advantages/std"), 0);
}

TEST(LearnerControllerTest, LearnsToChooseByFeaturesAndMemory) {
  Config config = SmallRun();
  config.run.steps = 60;
  config.rollout.prompts_per_step = 16;
  const std::vector<Metrics> metrics = Trained(config).metrics;
  const auto mean_of = [&](size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += GetMetric(metrics[i], "reward");
    return sum / static_cast<double>(end - begin);
  };
  EXPECT_LT(mean_of(0, 5), 0.2);
  EXPECT_GT(mean_of(50, 60), 1.2);  // the best is about 2.5
}

}  // namespace
}  // namespace reprise::rl
