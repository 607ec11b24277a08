#include "rl/policy/categorical/categorical_policy.h"

#include <algorithm>
#include <any>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "kernels/lm_head/categorical.h"

namespace reprise::rl {
namespace {

constexpr int64_t kFeatures = 3, kActions = 4;

CategoricalShape SmallShape() {
  return {.features = kFeatures,
          .actions = kActions,
          .hidden = {5, 6},
          .activation = models::Activation::kTanh,
          .layer_norm = true,
          .has_values = true};
}

CategoricalShape WithoutValues(CategoricalShape shape) {
  shape.has_values = false;
  return shape;
}

CategoricalShape SharedShape() {
  CategoricalShape shape = SmallShape();
  shape.hidden = {5};
  shape.trunk = {7, 6};
  shape.orthogonal = true;
  shape.normalizes_entropy = true;
  return shape;
}

CategoricalShape RecurrentShape() {
  CategoricalShape shape = SharedShape();
  shape.trunk = {7};
  shape.lstm = 6;
  shape.normalizes_features = true;
  return shape;
}

CategoricalShape MemoryShape() {
  CategoricalShape shape = SmallShape();
  shape.lstm = 6;
  return shape;
}

class CategoricalPolicyTest : public ::testing::TestWithParam<CategoricalShape (*)()> {
 protected:
  const CategoricalShape shape_ = GetParam()();
};

INSTANTIATE_TEST_SUITE_P(Shapes, CategoricalPolicyTest,
                         ::testing::Values(SmallShape, SharedShape, RecurrentShape, MemoryShape));

// Groups of two episodes of 1, 2, 3, ... decisions; action 3 is never allowed. The last episode is truncated.
class Shard {
 public:
  explicit Shard(int64_t groups) : task_P_(static_cast<size_t>(groups)), episode_N_(static_cast<size_t>(2 * groups)) {
    uint64_t drawn = 0;
    const auto next = [&] { return DrawUniform(3, Purpose::kTest, {.token = drawn++}); };
    for (size_t n = 0; n < episode_N_.size(); ++n) {
      EpisodeRecord& episode = episode_N_[n];
      episode.terminated = n + 1 < episode_N_.size();
      episode.decisions.count = static_cast<int64_t>(n % 3) + 1;
      FeatureDecisions content;
      const int64_t states = episode.decisions.count + (episode.terminated ? 0 : 1);
      for (int64_t i = 0; i < states * kFeatures; ++i) content.feature_TF.push_back(static_cast<float>(2 * next() - 1));
      for (int64_t t = 0; t < episode.decisions.count; ++t) {
        content.allowed_TA.insert(content.allowed_TA.end(), {1, 1, 1, 0});
        content.action_T.push_back(static_cast<int32_t>(3 * next()));
      }
      episode.content = content;
    }
    for (size_t p = 0; p < task_P_.size(); ++p) {
      EpisodeGroup group = {&task_P_[p], {&episode_N_[2 * p], &episode_N_[2 * p + 1]}, {}};
      group.index_G = {static_cast<int64_t>(2 * p), static_cast<int64_t>(2 * p + 1)};
      input_.push_back(group);
    }
  }

  const ShardInput& input() const { return input_; }
  const std::vector<EpisodeRecord>& episode_N() const { return episode_N_; }

 private:
  std::vector<TaskRecord> task_P_;
  std::vector<EpisodeRecord> episode_N_;
  ShardInput input_;
};

struct Pass {
  std::vector<float> gradient, logprobs, divergences;
  double loss = 0;
};

// The loss of every decision: logprob + entropy / 4 + divergence / 2 + value^2 / 2.
Pass RunPass(const CategoricalPolicy& policy, const ShardInput& shard, int64_t max_rows,
             const Policy* reference = nullptr, std::vector<int>* finished = nullptr) {
  Pass pass;
  pass.gradient.resize(static_cast<size_t>(policy.layout().total), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> open(pass.gradient.size());
  const EpisodeLoss loss = [&](int64_t, const DecisionScores& scores, const DecisionGradients& gradients) {
    for (size_t t = 0; t < scores.logprob_T.size(); ++t) {
      pass.logprobs.push_back(scores.logprob_T[t]);
      pass.loss += scores.logprob_T[t] + 0.25 * scores.entropy_T[t];
      gradients.dlogprob_T[t] = 1;
      gradients.dentropy_T[t] = 0.25f;
      if (scores.divergence_T.empty()) continue;
      pass.divergences.push_back(scores.divergence_T[t]);
      pass.loss += 0.5 * scores.divergence_T[t];
      gradients.ddivergence_T[t] = 0.5f;
    }
    return absl::OkStatus();
  };
  const EpisodeValueLoss values = [&](int64_t, absl::Span<const float> value_T, absl::Span<float> dvalue_T) {
    for (size_t t = 0; t < value_T.size(); ++t) {
      pass.loss += 0.5 * value_T[t] * value_T[t];
      dvalue_T[t] = value_T[t];
    }
    return absl::OkStatus();
  };
  const PassTotals totals;
  PassTarget target = {pass.gradient.data(), max_rows == 0 ? nullptr : open.data()};
  if (finished != nullptr) target.finished = [finished](int spec) { finished->push_back(spec); };
  const auto result = policy.Accumulate(
      {.temperature = 0.7f, .totals = totals, .loss = loss, .value_loss = values, .reference = reference}, shard,
      target, policy.NewWorkspace({.max_rows = max_rows}, Team()).get());
  EXPECT_TRUE(result.ok());
  return pass;
}

TEST_P(CategoricalPolicyTest, BatchesChangeNoBitOfTheGradient) {
  const CategoricalPolicy policy(shape_, 1, 1);
  const Shard shard(9);
  const Pass whole = RunPass(policy, shard.input(), 0);
  for (const int64_t rows : {1, 2, 5, 1000}) {
    const Pass cut = RunPass(policy, shard.input(), rows);
    EXPECT_EQ(cut.gradient, whole.gradient) << rows;
    EXPECT_EQ(cut.logprobs, whole.logprobs) << rows;
  }
}

TEST_P(CategoricalPolicyTest, TheGradientIsThatOfTheLoss) {
  CategoricalPolicy policy(shape_, 1, 1);
  const CategoricalPolicy reference(WithoutValues(shape_), 2, 1);
  ThreadPool pool(1);
  const Shard shard(3);
  const Pass pass = RunPass(policy, shard.input(), 0, &reference);
  for (const ParameterSpec& spec : policy.layout().specs) {
    for (int64_t i = spec.offset; i < spec.offset + spec.size; i += 3) {
      if (spec.kind == ParameterKind::kStatistic) {
        EXPECT_EQ(pass.gradient[i], 0) << spec.name;
        continue;
      }
      float& weight = policy.mutable_parameters()[i];
      const float middle = weight, step = 1e-2f;
      const auto loss_at = [&](float value) {
        weight = value;
        policy.Refresh(pool);
        return RunPass(policy, shard.input(), 0, &reference).loss;
      };
      const double slope = (loss_at(middle + step) - loss_at(middle - step)) / (2 * static_cast<double>(step));
      weight = middle;
      EXPECT_NEAR(pass.gradient[i], slope, 2e-3 + 2e-3 * std::abs(slope)) << spec.name << " " << i;
    }
  }
}

TEST_P(CategoricalPolicyTest, EveryTensorIsReportedOnceAndWithoutEpisodesNone) {
  const CategoricalPolicy policy(shape_, 1, 1);
  std::vector<int> finished;
  RunPass(policy, Shard(2).input(), 2, nullptr, &finished);
  std::sort(finished.begin(), finished.end());
  std::vector<int> all(policy.layout().specs.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  EXPECT_EQ(finished, all);
  finished.clear();
  const Pass empty = RunPass(policy, {}, 0, nullptr, &finished);
  EXPECT_TRUE(finished.empty());
  EXPECT_EQ(empty.gradient, std::vector<float>(empty.gradient.size(), 0.0f));
}

TEST_P(CategoricalPolicyTest, ScoresHaveTheBitsOfThePassAndSumToOne) {
  const CategoricalPolicy policy(shape_, 1, 1);
  const Shard shard(4);
  std::vector<float> logprobs;
  policy.Score(
      shard.input(), 0.7f,
      [&](int64_t, absl::Span<const float> logprob_T, absl::Span<const float>) {
        logprobs.insert(logprobs.end(), logprob_T.begin(), logprob_T.end());
      },
      policy.NewWorkspace({}, Team()).get());
  EXPECT_EQ(logprobs, RunPass(policy, shard.input(), 0).logprobs);
  double sum = 0;
  for (int32_t action = 0; action < kActions; ++action) {
    EpisodeRecord episode = shard.episode_N()[0];
    std::any_cast<FeatureDecisions&>(episode.content).action_T = {action};
    policy.Score(
        {{nullptr, {&episode}, {0}}}, 1.0f,
        [&](int64_t, absl::Span<const float> logprob_T, absl::Span<const float>) { sum += std::exp(logprob_T[0]); },
        policy.NewWorkspace({}, Team()).get());
  }
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST_P(CategoricalPolicyTest, ATruncatedEpisodeHasAValueMore) {
  const CategoricalPolicy policy(shape_, 1, 1);
  const Shard shard(2);
  for (const bool after_truncation : {false, true}) {
    std::vector<size_t> counts;
    policy.PredictValues(
        shard.input(), after_truncation,
        [&](int64_t, absl::Span<const float> value_T) { counts.push_back(value_T.size()); },
        policy.NewWorkspace({}, Team()).get());
    EXPECT_EQ(counts, (std::vector<size_t>{1, 2, 3, after_truncation ? 2u : 1u}));
  }
}

TEST_P(CategoricalPolicyTest, AFrozenCopyHasNoValuesAndKeepsItsNumbers) {
  CategoricalPolicy policy(shape_, 1, 1);
  ThreadPool pool(1);
  const Shard shard(2);
  const std::unique_ptr<Policy> copy = policy.FrozenCopy();
  EXPECT_EQ(copy->layout().total, policy.FrozenLayout().total);
  EXPECT_LT(copy->layout().total, policy.layout().total);
  EXPECT_TRUE(copy->SharesWith(policy));
  const Pass same = RunPass(policy, shard.input(), 0, copy.get());
  EXPECT_EQ(same.divergences, std::vector<float>(same.divergences.size(), 0.0f));
  for (float& weight : policy.mutable_parameters()) weight += 0.125f;
  policy.Refresh(pool);
  EXPECT_FALSE(copy->SharesWith(policy));
  const Pass moved = RunPass(policy, shard.input(), 0, copy.get());
  EXPECT_GT(*std::max_element(moved.divergences.begin(), moved.divergences.end()), 0);
  copy->MoveTowards(policy, 1.0, pool);
  EXPECT_TRUE(copy->SharesWith(policy));
}

TEST_P(CategoricalPolicyTest, CorruptWeightsAndStaleCopiesOfThemAreNamed) {
  CategoricalPolicy policy(shape_, 1, 1);
  const Shard shard(1);
  EXPECT_EQ(policy.FindCorruption({}, shard.episode_N()[0]), "");
  const ParameterSpec& first = policy.layout().specs[0];
  policy.mutable_parameters()[0] += 1;
  EXPECT_EQ(policy.FindCorruption({}, shard.episode_N()[0]), "a packed copy of the policy's weights");
  policy.mutable_parameters()[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(policy.FindCorruption({}, shard.episode_N()[0]), first.name + " (element 1 is nan)");
}

// Returns the log-probabilities of the episodes' actions when they are played decision by decision.
std::vector<float> Played(const CategoricalPolicy& policy, const Shard& shard, float temperature) {
  std::vector<float> logprobs;
  for (const EpisodeRecord& episode : shard.episode_N()) {
    const auto& content = std::any_cast<const FeatureDecisions&>(episode.content);
    models::LstmState memory;
    for (int64_t t = 0; t < episode.decisions.count; ++t) {
      std::vector<float> logit_A(kActions);
      policy.NextLogits(absl::MakeConstSpan(content.feature_TF).subspan(t * kFeatures, kFeatures),
                        absl::MakeConstSpan(content.allowed_TA).subspan(t * kActions, kActions), &memory,
                        absl::MakeSpan(logit_A));
      kernels::RowStatistics row;
      kernels::CategoricalForward(temperature, {logit_A.data(), 1, kActions}, &row);
      logprobs.push_back(kernels::LogProbability(row, logit_A[content.action_T[t]]));
    }
  }
  return logprobs;
}

TEST_P(CategoricalPolicyTest, PlayingHasTheBitsOfThePassOverWholeEpisodes) {
  const CategoricalPolicy policy(shape_, 1, 1);
  const Shard shard(4);
  EXPECT_EQ(Played(policy, shard, 0.7f), RunPass(policy, shard.input(), 0).logprobs);
}

TEST(CategoricalEntropyTest, IsAShareOfTheGreatestOneAndZeroForASingleAction) {
  CategoricalShape shape = SmallShape();
  shape.normalizes_entropy = true;
  CategoricalPolicy policy(shape, 1, 1);
  ThreadPool pool(1);
  for (float& weight : policy.mutable_parameters()) weight = 0;  // every allowed action has the same probability
  policy.Refresh(pool);
  EpisodeRecord episode;
  episode.terminated = true;
  episode.decisions.count = 3;
  episode.content =
      FeatureDecisions{std::vector<float>(3 * kFeatures, 0.5f), {1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0}, {0, 1, 2}};
  const ShardInput input = {{nullptr, {&episode}, {0}}};
  std::vector<float> entropies;
  policy.Score(
      input, 1.0f,
      [&](int64_t, absl::Span<const float>, absl::Span<const float> entropy_T) {
        entropies.assign(entropy_T.begin(), entropy_T.end());
      },
      policy.NewWorkspace({}, Team()).get());
  ASSERT_EQ(entropies.size(), 3u);
  EXPECT_NEAR(entropies[0], 1, 1e-6);
  EXPECT_NEAR(entropies[1], 1, 1e-6);
  EXPECT_LE(std::max(entropies[0], entropies[1]), 1.0f);
  EXPECT_EQ(entropies[2], 0.0f);
  EXPECT_TRUE(std::isfinite(RunPass(policy, input, 0).loss));
}

// Features 2 and 4, then 6: mean 4, variance 8 / 3. From mean 0 and variance 1 the mean becomes 0.04, the variance
// 0.99 + 0.01 * 8 / 3 + 0.99 * 0.01 * 16.
// Of four actions: ln 4 / ln 2 = 2 with two allowed, ln 4 / ln 3 with three, 1 with one or all; of forty actions with
// two allowed the scale is bounded by 3.
TEST(CategoricalEntropyTest, TheFloorOfItsWeightRisesWhereActionsAreMasked) {
  const std::vector<uint8_t> allowed = {1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0};
  ActionDistributions few(4, 4);
  std::fill_n(few.logits().data, 16, 0.0f);
  few.Normalize(1);
  few.CountChoices({allowed.data(), 4, 4}, /*divides_entropies=*/false);
  const std::vector<float> scale = few.floor_scale_R();
  EXPECT_EQ(scale[0], 1.0f);
  EXPECT_NEAR(scale[1], std::log(4) / std::log(3), 1e-6);
  EXPECT_NEAR(scale[2], 2.0, 1e-6);
  EXPECT_EQ(scale[3], 1.0f);
  EXPECT_EQ(few.entropy_scale(2), 1.0f);
  std::vector<uint8_t> two(40, 0);
  two[3] = two[7] = 1;
  ActionDistributions many(1, 40);
  std::fill_n(many.logits().data, 40, 0.0f);
  many.Normalize(1);
  many.CountChoices({two.data(), 1, 40}, false);
  EXPECT_EQ(many.floor_scale_R()[0], 3.0f);
}

TEST(CategoricalStatisticsTest, FollowTheFeaturesOfEpisodesAndNormaliseThem) {
  CategoricalShape shape = {.features = 1, .actions = 2, .hidden = {3}, .normalizes_features = true};
  CategoricalPolicy policy(shape, 1, 1);
  ThreadPool pool(1);
  EXPECT_TRUE(policy.observes());
  EpisodeRecord first, second;
  first.decisions.count = 2;
  first.content = FeatureDecisions{{2, 4, 1000}, {1, 1, 1, 1}, {0, 1}};  // truncated: the last state is not observed
  second.decisions.count = 1;
  second.content = FeatureDecisions{{6}, {1, 1}, {0}};
  EXPECT_EQ(policy.Observe(first), (std::vector<double>{2, 3, 2}));
  policy.TakeObservations({policy.Observe(first), policy.Observe(second)}, pool);
  EXPECT_FLOAT_EQ(policy.parameters()[0], 0.04f);
  EXPECT_FLOAT_EQ(policy.parameters()[16], static_cast<float>(0.99 + 0.01 * 8 / 3 + 0.99 * 0.01 * 16));
  // The features are read in the normalised form: as those of a policy without statistics that is given that form.
  shape.normalizes_features = false;
  CategoricalPolicy plain(shape, 1, 1);
  std::copy(policy.parameters().begin() + 32, policy.parameters().end(), plain.mutable_parameters().begin());
  plain.Refresh(pool);
  const float mean = policy.parameters()[0], variance = policy.parameters()[16];
  const std::vector<float> x = {1.5f},
                           normal = {(1.5f - mean) *
                                     static_cast<float>(1 / std::sqrt(static_cast<double>(variance) + 1e-4))};
  std::vector<float> logits(2), expected(2);
  policy.Logits(x, {1, 1}, absl::MakeSpan(logits));
  plain.Logits(normal, {1, 1}, absl::MakeSpan(expected));
  EXPECT_EQ(logits, expected);
  EXPECT_FALSE(plain.observes());
}

TEST(CategoricalStatisticsTest, StayWhereNoEpisodeHasADecision) {
  CategoricalPolicy policy({.features = 1, .actions = 2, .normalizes_features = true}, 1, 1);
  ThreadPool pool(1);
  EpisodeRecord empty;
  empty.content = FeatureDecisions{{3}, {}, {}};
  policy.TakeObservations({policy.Observe(empty)}, pool);
  EXPECT_EQ(policy.parameters()[0], 0.0f);
  EXPECT_EQ(policy.parameters()[16], 1.0f);
}

}  // namespace
}  // namespace reprise::rl
