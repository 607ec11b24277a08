#include "rl/gradient/corruption_origin.h"

#include <limits>
#include <memory>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "rl/policy/decoder/decoder_policy.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A model, and an episode with the log-probabilities that the model computes.
class CorruptionOriginTest : public ::testing::Test {
 protected:
  CorruptionOriginTest()
      : model_(models::testing::RandomModel(models::testing::SmallConfig(), 1)),
        reference_model_(models::testing::RandomModel(models::testing::SmallConfig(), 2)) {
    CompletionOf(task_).tokens = models::testing::RandomTokens(model_->config(), 3, 4);
    CompletionOf(episode_).tokens = models::testing::RandomTokens(model_->config(), 4, 6);
    policy_.Score(
        {{&task_, {&episode_}, {0}}}, 0.7f,
        [this](int64_t, absl::Span<const float> logprob_T, absl::Span<const float>) {
          logprob_T_.assign(logprob_T.begin(), logprob_T.end());
        },
        policy_.NewWorkspace({}, Team()).get());
    episode_.logprobs = logprob_T_;
  }

  // Returns what WithOrigin appends to the error.
  std::string Added(bool samples_are_own = true) {
    const absl::Status status = WithOrigin({policy_, &reference_, 0.7f, samples_are_own}, task_, episode_, logprob_T_,
                                           absl::InternalError("no"));
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    return std::string(status.message().substr(2));
  }

  std::unique_ptr<models::Model> model_, reference_model_;
  DecoderPolicy policy_{*model_, {}}, reference_{*reference_model_, {}};
  TaskRecord task_;
  EpisodeRecord episode_;
  std::vector<float> logprob_T_;
};

TEST_F(CorruptionOriginTest, NothingIsAddedWithoutCorruption) { EXPECT_EQ(Added(), ""); }

TEST_F(CorruptionOriginTest, OkStaysOk) {
  EXPECT_OK(WithOrigin({policy_, nullptr, 1, true}, task_, episode_, {}, absl::OkStatus()));
}

TEST_F(CorruptionOriginTest, ALogProbabilityThatRecomputationDoesNotGiveIsNamed) {
  logprob_T_[2] = kNan;
  EXPECT_EQ(Added().find("; the corruption is in logprob: recomputed, the value of token 2 is -"), 0u);
}

// In a later update, or with sums in any order, the sampled log-probabilities may differ.
TEST_F(CorruptionOriginTest, ASampledLogProbabilityIsNamedWhereItMustBeEqual) {
  episode_.logprobs[3] -= 0.001f;
  EXPECT_EQ(Added().find("; the corruption is in old_logprob: recomputed, the value of token 3 is -"), 0u);
  EXPECT_EQ(Added(/*samples_are_own=*/false), "");
}

TEST_F(CorruptionOriginTest, TheReferenceIsSearchedAfterThePolicy) {
  reference_.mutable_parameters()[5] = kNan;
  EXPECT_EQ(Added(), "; the corruption is in the reference model: model.embed_tokens.weight (element 5 is nan)");
  policy_.mutable_parameters()[6] = kNan;
  EXPECT_EQ(Added(), "; the corruption is in model.embed_tokens.weight (element 6 is nan)");
}

// The environment's tokens were not sampled: their log-probabilities are not compared.
TEST_F(CorruptionOriginTest, ObservationsHaveNoLogProbability) {
  episode_.decisions = {.count = 6, .drawn_T = {0, 0, 1, 1, 1, 1}};
  logprob_T_[1] = kNan;
  EXPECT_EQ(Added(/*samples_are_own=*/false), "");
}

}  // namespace
}  // namespace reprise::rl
