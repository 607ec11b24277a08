#include "rl/gradient/step_loss.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

// Two tokens of the policy, two of the environment, one of the policy.
EpisodeRecord TwoTurns() {
  EpisodeRecord episode;
  episode.advantage = 0.75;
  episode.decisions = {
      .count = 5, .turns = 2, .drawn_T = {1, 1, 0, 0, 1}, .learned_T = {1, 1, 0, 0, 1}, .turn_T = {0, 0, 1, 1, 1}};
  return episode;
}

struct Gradient {
  std::vector<float> dlogprob_T = std::vector<float>(5, 0.0f), dentropy_T = std::vector<float>(5, 0.0f);
  LossGradient view() { return {absl::MakeSpan(dlogprob_T), absl::MakeSpan(dentropy_T)}; }
};

constexpr float kLogprobs[] = {-0.5f, -1.5f, -9.0f, -8.0f, -0.25f};
constexpr float kEntropies[] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f};

TEST(ReinforcementLossTest, GivesObservationsAZeroGradientAndAllTurnsTheSameAdvantage) {
  EpisodeRecord episode = TwoTurns();
  UpdateContext update;
  update.first = true;
  update.options.entropy_coef = 0.1;
  const std::vector<SequenceSize> sizes = {{3, 1.0}};
  update.normalizer = MakeNormalizer(sizes, 3.0, 1);
  Gradient gradient;
  ASSERT_OK_AND_ASSIGN(const EpisodeOutcome outcome,
                       ReinforcementLoss(update, {}, kLogprobs, kEntropies, &episode, gradient.view()));
  EXPECT_EQ(outcome.metrics.num_tokens, 3);
  EXPECT_EQ(outcome.metrics.entropy_sum, 8.0);
  EXPECT_EQ(gradient.dlogprob_T[2], 0.0f);
  EXPECT_EQ(gradient.dlogprob_T[3], 0.0f);
  EXPECT_EQ(gradient.dentropy_T[2], 0.0f);
  EXPECT_EQ(gradient.dentropy_T[3], 0.0f);
  EXPECT_NE(gradient.dlogprob_T[0], 0.0f);
  EXPECT_EQ(gradient.dlogprob_T[0], gradient.dlogprob_T[4]);
  EXPECT_EQ(episode.logprobs, (std::vector<float>{-0.5f, -1.5f, 0, 0, -0.25f}));
}

// Minibatches of decisions: each update counts its own tokens, and together they count what one of all tokens counts.
TEST(ReinforcementLossTest, OutcomesOfPartsOfAnEpisodeAddToThatOfAll) {
  UpdateContext update;
  update.options.entropy_coef = 0.1;
  update.options.epsilon = update.options.epsilon_high = 0.01;
  const std::vector<SequenceSize> sizes = {{3, 1.0}};
  update.normalizer = MakeNormalizer(sizes, 3.0, 1);
  const std::vector<uint8_t> first_T = {1, 0, 0, 0, 0}, rest_T = {0, 1, 0, 0, 1};
  const std::vector<double> weight_T = {0.5, 2, 0, 0, 0.25};
  const auto outcome_of = [&](absl::Span<const uint8_t> mask_T, Gradient* gradient) {
    EpisodeRecord episode = TwoTurns();
    episode.logprobs = {-1.0f, -1.0f, 0, 0, -0.5f};
    const std::vector<double> old_T(episode.logprobs.begin(), episode.logprobs.end());
    const EpisodeContext context = {.mask_T = mask_T, .old_logprob_T = old_T, .importance_weight_T = weight_T};
    return ReinforcementLoss(update, context, kLogprobs, kEntropies, &episode, gradient->view()).value();
  };
  Gradient whole, first, rest;
  const EpisodeOutcome all = outcome_of({}, &whole);
  EpisodeOutcome sum = outcome_of(first_T, &first);
  EXPECT_EQ(sum.metrics.num_tokens, 1);
  EXPECT_EQ(sum.importance_max, 0.5);
  AddOutcome(outcome_of(rest_T, &rest), &sum);
  EXPECT_NEAR(sum.loss, all.loss, 1e-15);
  EXPECT_NEAR(sum.metrics.policy_loss, all.metrics.policy_loss, 1e-15);
  EXPECT_EQ(sum.metrics.num_tokens, 3);
  EXPECT_EQ(sum.metrics.entropy_sum, 8);
  EXPECT_EQ(sum.metrics.num_ratios, 3);
  EXPECT_EQ(sum.metrics.high_clipped, all.metrics.high_clipped);
  EXPECT_GT(sum.metrics.high_clipped, 0);
  EXPECT_NEAR(sum.metrics.ratio_sum, all.metrics.ratio_sum, 1e-14);
  EXPECT_NEAR(sum.metrics.approx_kl_sum, all.metrics.approx_kl_sum, 1e-14);
  EXPECT_EQ(sum.metrics.max_abs_log_ratio, all.metrics.max_abs_log_ratio);
  EXPECT_EQ(sum.importance_sum, 2.75);
  EXPECT_EQ(sum.importance_min, 0.25);
  EXPECT_EQ(sum.importance_max, 2.0);
  for (size_t t = 0; t < 5; ++t) {
    EXPECT_EQ(first.dlogprob_T[t] + rest.dlogprob_T[t], whole.dlogprob_T[t]);
    EXPECT_EQ(first.dlogprob_T[t], first_T[t] == 0 ? 0 : whole.dlogprob_T[t]);
    EXPECT_EQ(rest.dentropy_T[t], rest_T[t] == 0 ? 0 : whole.dentropy_T[t]);
  }
}

TEST(ReinforcementLossTest, GivesReasoningAGradientOfExactlyZeroAndComparesItWithSampling) {
  EpisodeRecord episode = TwoTurns();
  episode.logprobs = {-0.5f, -1.5f, 0, 0, -0.25f};
  episode.decisions.learned_T = {0, 1, 0, 0, 0};
  UpdateContext update;
  update.first = true;
  update.options.entropy_coef = 0.1;
  Gradient gradient;
  ASSERT_OK_AND_ASSIGN(const EpisodeOutcome outcome,
                       ReinforcementLoss(update, {}, kLogprobs, kEntropies, &episode, gradient.view()));
  for (const size_t t : {0, 2, 3, 4}) {
    EXPECT_EQ(gradient.dlogprob_T[t], 0.0f);
    EXPECT_EQ(gradient.dentropy_T[t], 0.0f);
  }
  EXPECT_NE(gradient.dlogprob_T[1], 0.0f);
  EXPECT_EQ(outcome.metrics.num_tokens, 1);
  EXPECT_EQ(outcome.metrics.entropy_sum, 2.0);
  EXPECT_EQ(outcome.num_compared, 3);
  episode.logprobs[4] = -0.5f;  // of reasoning
  EXPECT_FALSE(ReinforcementLoss(update, {}, kLogprobs, kEntropies, &episode, gradient.view()).ok());
}

TEST(ReinforcementLossTest, DoesNotReadLogprobsOfObservations) {
  EpisodeRecord episode = TwoTurns(), other = TwoTurns();
  episode.logprobs = {-0.5f, -1.5f, 0, 0, -0.25f};
  other.logprobs = {-0.5f, -1.5f, 123, -77, -0.25f};
  UpdateContext update;
  update.normalizer = MakeNormalizer(std::vector<SequenceSize>{{3, 1.0}}, 3.0, 1);
  Gradient gradient, other_gradient;
  const float other_logprobs[] = {-0.5f, -1.5f, 1e30f, -1e30f, -0.25f};
  ASSERT_OK_AND_ASSIGN(const EpisodeOutcome outcome,
                       ReinforcementLoss(update, {}, kLogprobs, kEntropies, &episode, gradient.view()));
  ASSERT_OK_AND_ASSIGN(const EpisodeOutcome other_outcome,
                       ReinforcementLoss(update, {}, other_logprobs, kEntropies, &other, other_gradient.view()));
  EXPECT_EQ(outcome.loss, other_outcome.loss);
  EXPECT_EQ(gradient.dlogprob_T, other_gradient.dlogprob_T);
}

TEST(ReinforcementLossTest, RejectsLogprobsThatDifferFromSamplingUnlessReductionIsFast) {
  EpisodeRecord episode = TwoTurns();
  episode.logprobs = {-0.5f, -1.25f, 0, 0, -0.25f};
  UpdateContext update;
  update.first = true;
  update.normalizer = MakeNormalizer(std::vector<SequenceSize>{{3, 1.0}}, 3.0, 1);
  Gradient gradient;
  EXPECT_THAT(ReinforcementLoss(update, {}, kLogprobs, kEntropies, &episode, gradient.view()).status(),
              testing::StatusIs(absl::StatusCode::kInternal, ::testing::HasSubstr("token 1")));
  update.compares_with_sampling = false;  // run.reduction = "fast": products come from whichever library is fastest
  ASSERT_OK_AND_ASSIGN(const EpisodeOutcome outcome,
                       ReinforcementLoss(update, {}, kLogprobs, kEntropies, &episode, gradient.view()));
  EXPECT_EQ(outcome.metrics.num_tokens, 3);
}

TEST(SupervisedLossTest, LearnsOnlyActions) {
  EpisodeRecord episode = TwoTurns();
  Gradient gradient;
  ASSERT_OK_AND_ASSIGN(const EpisodeOutcome outcome,
                       SupervisedLoss(6, kLogprobs, kEntropies, &episode, absl::MakeSpan(gradient.dlogprob_T)));
  const float weight = static_cast<float>(-1.0 / 6);
  EXPECT_EQ(gradient.dlogprob_T, (std::vector<float>{weight, weight, 0, 0, weight}));
  EXPECT_DOUBLE_EQ(outcome.loss, 2.25 / 6);
  EXPECT_EQ(outcome.metrics.num_tokens, 3);
}

}  // namespace
}  // namespace reprise::rl
