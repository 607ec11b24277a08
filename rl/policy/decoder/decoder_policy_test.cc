#include "rl/policy/decoder/decoder_policy.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {
namespace {

std::vector<float> Values(absl::Span<const float> values) { return {values.begin(), values.end()}; }

// Returns the log-probabilities that the kernels compute from the packed weights.
std::vector<float> ComputeLogprobs(const Policy& policy) {
  const models::DecoderConfig& config = DecoderPolicy::ModelOf(policy).config();
  TaskRecord task;
  EpisodeRecord episode;
  CompletionOf(task).tokens = models::testing::RandomTokens(config, 1, 5);
  CompletionOf(episode).tokens = models::testing::RandomTokens(config, 2, 7);
  std::vector<float> result;
  policy.Score(
      {{&task, {&episode}, {0}}}, 1.0f,
      [&result](int64_t, absl::Span<const float> logprob_T, absl::Span<const float>) { result = Values(logprob_T); },
      policy.NewWorkspace({}, Team()).get());
  return result;
}

void Change(Policy& policy, ThreadPool& pool) {
  for (float& weight : policy.mutable_parameters()) weight += 0.125f;
  policy.Refresh(pool);
}

enum class Weights { kFloats, kBf16, kAdapters };

// Runs with float and with bf16 weights, where the embedding is packed too, and with adapters of a frozen model.
class SharingTest : public ::testing::TestWithParam<Weights> {
 protected:
  SharingTest() : pool_(1) {
    models::DecoderConfig config = models::testing::SmallConfig();
    config.bf16_weights = GetParam() == Weights::kBf16;
    config.lora.r = GetParam() == Weights::kAdapters ? 2 : 0;
    config.value_model = models::ValueModel::kHead;  // which the reference does not have
    model_ = models::testing::RandomModel(config, 3);
    policy_ = std::make_unique<DecoderPolicy>(*model_, models::GenerateOptions());
    reference_ = policy_->FrozenCopy();
  }

  ThreadPool pool_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<Policy> policy_, reference_;
};

INSTANTIATE_TEST_SUITE_P(OfEveryKind, SharingTest,
                         ::testing::Values(Weights::kFloats, Weights::kBf16, Weights::kAdapters));

TEST_P(SharingTest, ACopySharesThePolicysPackedWeightsUntilTheFirstUpdate) {
  const std::vector<float> parameters = Values(reference_->parameters()), logprob_T = ComputeLogprobs(*reference_);
  EXPECT_NE(reference_->parameters().data(), policy_->parameters().data());
  EXPECT_TRUE(reference_->SharesWith(*policy_));
  EXPECT_EQ(logprob_T, ComputeLogprobs(*policy_));
  Change(*policy_, pool_);
  EXPECT_FALSE(reference_->SharesWith(*policy_));
  EXPECT_EQ(Values(reference_->parameters()), parameters);
  EXPECT_EQ(ComputeLogprobs(*reference_), logprob_T);
  EXPECT_NE(ComputeLogprobs(*policy_), logprob_T);
}

TEST_P(SharingTest, ChangingTheReferenceDoesNotChangeThePolicy) {
  const std::vector<float> logprob_T = ComputeLogprobs(*policy_);
  Change(*reference_, pool_);
  EXPECT_EQ(ComputeLogprobs(*policy_), logprob_T);
  EXPECT_NE(ComputeLogprobs(*reference_), logprob_T);
}

TEST_P(SharingTest, AReferenceThatBecomesThePolicySharesAgainAndAMixtureDoesNot) {
  Change(*policy_, pool_);
  reference_->MoveTowards(*policy_, 1, pool_);
  EXPECT_TRUE(reference_->SharesWith(*policy_));
  EXPECT_EQ(ComputeLogprobs(*reference_), ComputeLogprobs(*policy_));
  const std::vector<float> logprob_T = ComputeLogprobs(*reference_);
  Change(*policy_, pool_);
  EXPECT_EQ(ComputeLogprobs(*reference_), logprob_T);
  reference_->MoveTowards(*policy_, 0.5, pool_);
  EXPECT_FALSE(reference_->SharesWith(*policy_));
  EXPECT_NE(ComputeLogprobs(*reference_), ComputeLogprobs(*policy_));
}

TEST(SharingOfAdaptersTest, AReferenceDropsNothingAndSoDoesNotShareWithAPolicyThatDoes) {
  models::DecoderConfig config = models::testing::SmallConfig();
  config.lora = {.r = 2, .dropout = 0.5};
  const auto model = models::testing::RandomModel(config, 3);
  const DecoderPolicy policy(*model, models::GenerateOptions());
  const std::unique_ptr<Policy> reference = policy.FrozenCopy();
  EXPECT_FALSE(reference->SharesWith(policy));
  const std::vector<float> of_policy = ComputeLogprobs(policy), of_reference = ComputeLogprobs(*reference);
  EXPECT_NE(of_policy, of_reference);
  EXPECT_EQ(of_policy, ComputeLogprobs(policy));
  EXPECT_EQ(&model->decoder().weights.layers()[0].o.floats()[0],
            &DecoderPolicy::ModelOf(*reference).decoder().weights.layers()[0].o.floats()[0]);
}

TEST(MoveTowardsTest, AMixtureCoversEveryTensor) {
  ThreadPool pool(1);
  for (const double tau : {0.999, 0.5, 0.0}) {
    const auto model = models::testing::RandomModel(models::testing::SmallConfig(), 3);
    const auto other = models::testing::RandomModel(models::testing::SmallConfig(), 4);
    const DecoderPolicy policy(*model, {});
    const std::unique_ptr<Policy> reference = DecoderPolicy(*other, {}).FrozenCopy();
    const std::vector<float> before = Values(reference->parameters());
    reference->MoveTowards(policy, 1 - tau, pool);
    for (const ParameterSpec& spec : policy.layout().specs) {
      SCOPED_TRACE(spec.name);
      bool moves = false;
      for (int64_t i = spec.offset; i < spec.offset + spec.size; ++i) {
        const size_t at = static_cast<size_t>(i);
        const double expected =
            tau * static_cast<double>(before[at]) + (1 - tau) * static_cast<double>(policy.parameters()[at]);
        ASSERT_NEAR(reference->parameters()[at], expected, 1e-6);
        moves |= reference->parameters()[at] != before[at];
      }
      EXPECT_TRUE(moves);
    }
    if (tau == 0) {
      EXPECT_EQ(Values(reference->parameters()), Values(policy.parameters()));
    }
  }
}

}  // namespace
}  // namespace reprise::rl
