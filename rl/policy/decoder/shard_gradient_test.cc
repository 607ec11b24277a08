#include "rl/policy/decoder/shard_gradient.h"

#include <cmath>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/policy/decoder/shard_testing.h"

namespace reprise::rl {
namespace {

using Fixture = testing::ExampleShard;

constexpr float kTemperature = 0.8f;

struct Outcome {
  std::vector<float> gradient;
  std::map<std::pair<int64_t, int64_t>, std::vector<float>> logprobs;
  ShardCounts counts;
  int64_t activation_bytes = 0;
};

Outcome Accumulate(const Fixture& fixture, int64_t max_rows, bool recompute = false, float entropy_weight = 0) {
  Outcome outcome;
  outcome.gradient.assign(static_cast<size_t>(fixture.model->layout().total), 0.0f);
  std::vector<float> open(outcome.gradient.size());
  ShardWorkspace workspace(fixture.config, recompute);
  models::ShardGradient gradient;
  models::StartShard(fixture.config, fixture.model->layout(), outcome.gradient.data(), open.data(), &gradient);
  const models::AuxiliaryGradient auxiliary_E(static_cast<size_t>(fixture.config.num_experts), 0.01f);
  const CompletionLoss loss = [&](int64_t group, int64_t completion, const DecisionScores& scores,
                                  const DecisionGradients& gradients) {
    outcome.logprobs[{group, completion}].assign(scores.logprob_T.begin(), scores.logprob_T.end());
    for (size_t t = 0; t < gradients.dlogprob_T.size(); ++t) {
      gradients.dlogprob_T[t] =
          0.1f * static_cast<float>(group + 1) - 0.05f * static_cast<float>(completion) + 0.01f * static_cast<float>(t);
      gradients.dentropy_T[t] = entropy_weight * (0.3f * static_cast<float>(completion) - 0.1f * static_cast<float>(t));
    }
    return absl::OkStatus();
  };
  absl::StatusOr<ShardCounts> counts = AccumulateShard(
      fixture.model->decoder(), fixture.groups,
      {.max_rows = max_rows, .temperature = kTemperature, .auxiliary_E = auxiliary_E}, loss, &workspace, &gradient);
  EXPECT_OK(counts);
  if (counts.ok()) outcome.counts = *std::move(counts);
  outcome.activation_bytes = workspace.activations.bytes();
  return outcome;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class ShardGradientTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(TiedOrNot, ShardGradientTest, ::testing::Bool());

TEST_P(ShardGradientTest, HasTheSameBitsWhereverBatchesAreCut) {
  const Fixture fixture(GetParam());
  const Outcome whole = Accumulate(fixture, 0);
  EXPECT_EQ(whole.counts.micro_batches, 1);
  int64_t most_cuts = 0, most_batches = 0;
  for (int64_t max_rows : {1, 3, 7, 11, 16, 25, 40, 60, 1000}) {
    const Outcome cut = Accumulate(fixture, max_rows);
    EXPECT_TRUE(SameBits(whole.gradient, cut.gradient)) << max_rows;
    EXPECT_EQ(whole.logprobs, cut.logprobs) << max_rows;
    EXPECT_EQ(whole.counts.expert_count_LE, cut.counts.expert_count_LE);
    EXPECT_EQ(whole.counts.probability_sum_E, cut.counts.probability_sum_E);
    most_cuts = std::max(most_cuts, cut.counts.cut_groups);
    most_batches = std::max(most_batches, cut.counts.micro_batches);
  }
  EXPECT_EQ(most_cuts, 3);
  EXPECT_GE(most_batches, 10);
}

TEST_P(ShardGradientTest, HasTheSameBitsWithRecomputedActivationsInLessMemory) {
  const Fixture fixture(GetParam());
  for (int64_t max_rows : {0, 7, 25}) {
    const Outcome kept = Accumulate(fixture, max_rows), recomputed = Accumulate(fixture, max_rows, true);
    EXPECT_TRUE(SameBits(kept.gradient, recomputed.gradient)) << max_rows;
    EXPECT_EQ(kept.logprobs, recomputed.logprobs) << max_rows;
    EXPECT_EQ(kept.counts.expert_count_LE, recomputed.counts.expert_count_LE);
    EXPECT_EQ(kept.counts.probability_sum_E, recomputed.counts.probability_sum_E);
    EXPECT_LT(recomputed.activation_bytes, kept.activation_bytes * 3 / 4);
  }
}

// A prompt is computed once for all of its completions, so that its rows have one mask.
TEST(ShardGradientOfAdaptersTest, HasTheSameBitsWhereverBatchesAreCut) {
  const Fixture fixture(false, models::ValueModel::kNone, false, {.r = 3, .alpha = 6, .dropout = 0.2});
  const Outcome whole = Accumulate(fixture, 0);
  EXPECT_FALSE(whole.gradient.empty());
  for (int64_t max_rows : {1, 7, 11, 25, 40}) {
    for (const bool recompute : {false, true}) {
      const Outcome cut = Accumulate(fixture, max_rows, recompute);
      EXPECT_TRUE(SameBits(whole.gradient, cut.gradient)) << max_rows;
      EXPECT_EQ(whole.logprobs, cut.logprobs) << max_rows;
      EXPECT_EQ(whole.counts.expert_count_LE, cut.counts.expert_count_LE);
    }
  }
  Fixture undropped = Fixture(false, models::ValueModel::kNone, false, {.r = 3, .alpha = 6, .dropout = 0.2});
  for (TrainingGroup& group : undropped.groups) group.dropout.reset();
  EXPECT_NE(Accumulate(undropped, 0).logprobs, whole.logprobs);
}

TEST(ShardGradientOnceTest, ComputesAPromptOnceForAllItsCompletions) {
  const Fixture fixture;
  int64_t prompt_rows = 0, completion_rows = 0;
  for (size_t p = 0; p < fixture.prompts.size(); ++p) {
    prompt_rows += static_cast<int64_t>(fixture.prompts[p].size());
    for (const auto& completion : fixture.completions[p])
      completion_rows += static_cast<int64_t>(completion.size()) - 1;
  }
  for (int64_t max_rows : {0, 7, 25}) {
    const Outcome outcome = Accumulate(fixture, max_rows);
    EXPECT_EQ(outcome.counts.prompt_rows, prompt_rows) << max_rows;
    EXPECT_EQ(outcome.counts.completion_rows, completion_rows) << max_rows;
  }
}

TEST(ShardGradientOnceTest, EndsWithTheFirstErrorOfTheLoss) {
  const Fixture fixture;
  std::vector<float> total(static_cast<size_t>(fixture.model->layout().total)), open(total.size());
  ShardWorkspace workspace(fixture.config);
  models::ShardGradient gradient;
  models::StartShard(fixture.config, fixture.model->layout(), total.data(), open.data(), &gradient);
  int calls = 0;
  const CompletionLoss loss = [&](int64_t group, int64_t completion, const DecisionScores&, const DecisionGradients&) {
    ++calls;
    return group == 1 && completion >= 2 ? absl::InternalError(absl::StrCat("refused ", completion)) : absl::OkStatus();
  };
  EXPECT_THAT(AccumulateShard(fixture.model->decoder(), fixture.groups, {.max_rows = 7, .temperature = kTemperature},
                              loss, &workspace, &gradient),
              reprise::testing::StatusIs(absl::StatusCode::kInternal, "refused 2"));
  EXPECT_EQ(calls, 7);
}

TEST(ShardGradientOnceTest, AnEntropyGradientHasTheSameBitsWhereverBatchesAreCut) {
  const Fixture fixture;
  const Outcome whole = Accumulate(fixture, 0, false, 1.0f);
  EXPECT_FALSE(SameBits(whole.gradient, Accumulate(fixture, 0).gradient));
  for (int64_t max_rows : {1, 7, 16, 25, 1000}) {
    EXPECT_TRUE(SameBits(whole.gradient, Accumulate(fixture, max_rows, max_rows == 7, 1.0f).gradient)) << max_rows;
  }
}

// Returns the weighted sum of all entropies, and its gradient.
double WeightedEntropy(const Fixture& fixture, std::vector<float>* gradient) {
  ShardWorkspace workspace(fixture.config);
  double sum = 0;
  const CompletionLoss loss = [&](int64_t, int64_t completion, const DecisionScores& scores,
                                  const DecisionGradients& gradients) {
    for (size_t t = 0; t < scores.entropy_T.size(); ++t) {
      gradients.dentropy_T[t] = static_cast<float>(completion) - 0.5f;
      sum += static_cast<double>(gradients.dentropy_T[t]) * static_cast<double>(scores.entropy_T[t]);
    }
    return absl::OkStatus();
  };
  gradient->assign(static_cast<size_t>(fixture.model->layout().total), 0.0f);
  std::vector<float> open(gradient->size());
  models::ShardGradient shard;
  models::StartShard(fixture.config, fixture.model->layout(), gradient->data(), open.data(), &shard);
  EXPECT_OK(AccumulateShard(fixture.model->decoder(), fixture.groups, {.max_rows = 9, .temperature = kTemperature},
                            loss, &workspace, &shard));
  return sum;
}

TEST(ShardGradientOnceTest, AnEntropyGradientAgreesWithFiniteDifferences) {
  const Fixture fixture;
  std::vector<float> gradient, unused;
  WeightedEntropy(fixture, &gradient);
  ThreadPool pool(1);
  // The steepest weight of every tensor: float's rounding hides the others.
  for (const ParameterSpec& spec : fixture.model->layout().specs) {
    size_t at = static_cast<size_t>(spec.offset);
    for (size_t i = at; i < static_cast<size_t>(spec.offset + spec.size); ++i) {
      if (std::fabs(gradient[i]) > std::fabs(gradient[at])) at = i;
    }
    float& weight = fixture.model->mutable_parameters()[at];
    const float middle = weight, high = middle + 0x1p-8f, low = middle - 0x1p-8f;
    const auto at_weight = [&](float value) {
      weight = value;
      fixture.model->Refresh(pool);
      return WeightedEntropy(fixture, &unused);
    };
    const double slope = (at_weight(high) - at_weight(low)) / (static_cast<double>(high) - static_cast<double>(low));
    at_weight(middle);
    EXPECT_NEAR(gradient[at], slope, 0.02 * std::fabs(slope) + 2e-3) << spec.name;
  }
}

TEST(ShardGradientOnceTest, IsZeroWithoutGroups) {
  Fixture fixture;
  fixture.groups.clear();
  const Outcome outcome = Accumulate(fixture, 0);
  for (float x : outcome.gradient) ASSERT_EQ(x, 0.0f);
}

TEST(ShardGradientOnceTest, ChangesWithTheOrderOfGroups) {  // shows that the equality tests above can fail
  Fixture fixture;
  const Outcome ordered = Accumulate(fixture, 0);
  std::swap(fixture.groups[0], fixture.groups[2]);
  EXPECT_FALSE(SameBits(ordered.gradient, Accumulate(fixture, 0).gradient));
}

}  // namespace
}  // namespace reprise::rl
