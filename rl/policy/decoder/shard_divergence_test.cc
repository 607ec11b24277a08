// Tests of the divergence of a policy's whole distribution from a reference's, over the batches of a shard.

#include <cmath>
#include <cstring>
#include <map>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "rl/policy/decoder/shard_gradient.h"
#include "rl/policy/decoder/shard_scores.h"
#include "rl/policy/decoder/shard_testing.h"

namespace reprise::rl {
namespace {

using testing::ExampleShard;

constexpr float kTemperature = 0.8f;

struct Outcome {
  std::vector<float> gradient;
  std::map<std::pair<int64_t, int64_t>, std::vector<float>> divergences;
  double weighted_sum = 0;
};

// Computes the weighted sum of all divergences and its gradient.
Outcome Accumulate(const ExampleShard& shard, const models::Model& reference, int64_t max_rows,
                   bool recompute = false) {
  Outcome outcome;
  outcome.gradient.assign(static_cast<size_t>(shard.model->layout().total), 0.0f);
  std::vector<float> open(outcome.gradient.size());
  ShardWorkspace workspace(shard.config, recompute);
  models::ShardGradient gradient;
  models::StartShard(shard.config, shard.model->layout(), outcome.gradient.data(), open.data(), &gradient);
  const CompletionLoss loss = [&](int64_t group, int64_t completion, const DecisionScores& scores,
                                  const DecisionGradients& gradients) {
    outcome.divergences[{group, completion}].assign(scores.divergence_T.begin(), scores.divergence_T.end());
    EXPECT_EQ(scores.divergence_T.size(), scores.logprob_T.size());
    for (size_t t = 0; t < scores.divergence_T.size(); ++t) {
      gradients.ddivergence_T[t] = static_cast<float>(completion) - 0.5f + 0.1f * static_cast<float>(t);
      outcome.weighted_sum +=
          static_cast<double>(gradients.ddivergence_T[t]) * static_cast<double>(scores.divergence_T[t]);
    }
    return absl::OkStatus();
  };
  EXPECT_OK(AccumulateShard(shard.model->decoder(), shard.groups,
                            {.max_rows = max_rows, .temperature = kTemperature, .reference = &reference.decoder()},
                            loss, &workspace, &gradient));
  return outcome;
}

std::unique_ptr<models::Model> Reference(const ExampleShard& shard) {
  return models::testing::RandomModel(shard.config, 17);
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(ShardDivergenceTest, HasTheSameBitsWhereverBatchesAreCut) {
  for (const bool tied : {false, true}) {
    const ExampleShard shard(tied);
    const auto reference = Reference(shard);
    const Outcome whole = Accumulate(shard, *reference, 0);
    ASSERT_EQ(whole.divergences.size(), 12u);
    for (const int64_t max_rows : {1, 7, 16, 25, 1000}) {
      const Outcome cut = Accumulate(shard, *reference, max_rows, max_rows == 7);
      EXPECT_EQ(whole.divergences, cut.divergences) << max_rows;
      EXPECT_TRUE(SameBits(whole.gradient, cut.gradient)) << max_rows;
    }
  }
}

TEST(ShardDivergenceTest, FromItselfIsExactlyZeroAndHasNoGradient) {
  const ExampleShard shard;
  const Outcome outcome = Accumulate(shard, *shard.model, 9);
  for (const auto& [place, divergence_T] : outcome.divergences) {
    for (const float divergence : divergence_T) EXPECT_EQ(divergence, 0.0f);
  }
  for (const float slope : outcome.gradient) ASSERT_EQ(slope, 0.0f);
}

// Every token of the vocabulary is a completion of its own: sums their k3, weighted by their probabilities.
TEST(ShardDivergenceTest, IsTheExpectationOfK3OverTheVocabulary) {
  ExampleShard shard;
  const auto reference = Reference(shard);
  std::vector<int32_t> vocabulary;
  for (int64_t v = 0; v < shard.config.vocab_size; ++v) vocabulary.push_back(static_cast<int32_t>(v));
  TrainingGroup group = {shard.prompts[0], {}};
  for (const int32_t& token : vocabulary) group.completion_G.push_back(absl::MakeConstSpan(&token, 1));
  shard.groups = {group};
  std::vector<double> logprob_V(vocabulary.size()), reference_V(vocabulary.size());
  ShardWorkspace workspace(shard.config);
  const auto score = [&](const models::Model& model, std::vector<double>* to_V) {
    ScoreShard(
        model.decoder(), shard.groups, 0, kTemperature,
        [&](int64_t, int64_t completion, absl::Span<const float> logprob_T, absl::Span<const float>) {
          (*to_V)[completion] = logprob_T[0];
        },
        &workspace);
  };
  score(*shard.model, &logprob_V);
  score(*reference, &reference_V);
  double expected = 0, total = 0;
  for (size_t v = 0; v < logprob_V.size(); ++v) {
    const double d = reference_V[v] - logprob_V[v];
    expected += std::exp(logprob_V[v]) * (std::exp(d) - d - 1);
    total += std::exp(logprob_V[v]);
  }
  EXPECT_NEAR(total, 1, 1e-5);
  EXPECT_GT(expected, 0.01);
  const Outcome outcome = Accumulate(shard, *reference, 0);
  for (const auto& [place, divergence_T] : outcome.divergences) EXPECT_NEAR(divergence_T[0], expected, 1e-5);
}

TEST(ShardDivergenceTest, ItsGradientAgreesWithFiniteDifferences) {
  const ExampleShard shard;
  const auto reference = Reference(shard);
  const std::vector<float> gradient = Accumulate(shard, *reference, 9).gradient;
  ThreadPool pool(1);
  // The steepest weight of every tensor: float's rounding hides the others.
  for (const ParameterSpec& spec : shard.model->layout().specs) {
    size_t at = static_cast<size_t>(spec.offset);
    for (size_t i = at; i < static_cast<size_t>(spec.offset + spec.size); ++i) {
      if (std::fabs(gradient[i]) > std::fabs(gradient[at])) at = i;
    }
    float& weight = shard.model->mutable_parameters()[at];
    const float middle = weight, high = middle + 0x1p-9f, low = middle - 0x1p-9f;
    const auto at_weight = [&](float value) {
      weight = value;
      shard.model->Refresh(pool);
      return Accumulate(shard, *reference, 0).weighted_sum;
    };
    const double slope = (at_weight(high) - at_weight(low)) / (static_cast<double>(high) - static_cast<double>(low));
    at_weight(middle);
    EXPECT_NEAR(gradient[at], slope, 0.02 * std::fabs(slope) + 2e-3) << spec.name;
    EXPECT_NE(gradient[at], 0.0f) << spec.name;
  }
}

}  // namespace
}  // namespace reprise::rl
