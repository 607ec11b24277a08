#include "rl/loss/sequence.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(SequenceTest, CountsAllTokensWithoutAMask) {
  const std::vector<double> logprob_T = {-1, -2, -3};
  const std::vector<uint8_t> mask_T = {1, 0, 1};
  EXPECT_EQ(Sequence{.logprob_T = logprob_T}.num_tokens(), 3);
  EXPECT_EQ((Sequence{.logprob_T = logprob_T, .mask_T = mask_T}.num_tokens()), 2);
  EXPECT_EQ(Sequence{}.num_tokens(), 0);
}

TEST(CheckFiniteTest, NamesTheTensorAndTheToken) {
  const std::vector<double> good_T = {-1, -2, -3}, bad_T = {-1, kNan, -kInf};
  const auto expect_named = [](const Sequence& sequence, const char* message) {
    EXPECT_THAT(CheckFinite(sequence), StatusIs(absl::StatusCode::kInternal, message));
  };
  expect_named({.logprob_T = bad_T}, "logprob of token 1 is nan");
  expect_named({.logprob_T = good_T, .old_logprob_T = bad_T}, "old_logprob of token 1 is nan");
  expect_named({.logprob_T = good_T, .ref_logprob_T = bad_T}, "ref_logprob of token 1 is nan");
  expect_named({.logprob_T = good_T, .entropy_T = bad_T}, "entropy of token 1 is nan");
  expect_named({.logprob_T = good_T, .advantage = kInf}, "advantage is inf");
  expect_named({.logprob_T = good_T, .advantage_T = bad_T}, "advantage of token 1 is nan");
  expect_named({.logprob_T = good_T, .importance_weight_T = bad_T}, "importance_weight of token 1 is nan");
  expect_named({.logprob_T = good_T, .exact_kl_T = bad_T}, "exact_kl of token 1 is nan");
  expect_named({.logprob_T = good_T, .weight = kNan}, "weight is nan");
  EXPECT_OK(CheckFinite({.logprob_T = good_T, .old_logprob_T = good_T}));
}

TEST(CheckFiniteTest, ReadsOnlyUnmaskedTokens) {
  const std::vector<double> bad_T = {-1, kNan, -kInf};
  const std::vector<uint8_t> mask_T = {1, 0, 0};
  EXPECT_OK(CheckFinite({.logprob_T = bad_T, .mask_T = mask_T}));
}

TEST(TopEntropyThresholdTest, InterpolatesBetweenOrderStatistics) {
  EXPECT_EQ(TopEntropyThreshold({3.0, 1.0, 2.0, 4.0, 5.0}, 0.5), 3.0);
  EXPECT_EQ(TopEntropyThreshold({3.0, 1.0, 2.0, 4.0}, 0.5), 2.5);
  EXPECT_EQ(TopEntropyThreshold({1.0, 2.0, 3.0, 4.0, 5.0}, 0.25), 4.0);
  EXPECT_EQ(TopEntropyThreshold({7.0}, 0.2), 7.0);
}

// The loss then refuses the entropy (CheckFinite).
TEST(TopEntropyThresholdTest, KeepsEveryTokenBesideOneThatHasNoOrder) {
  std::vector<double> entropies(100, 1.0);
  entropies[50] = std::nan("");
  EXPECT_EQ(TopEntropyThreshold(entropies, 0.2), -std::numeric_limits<double>::infinity());
}

TEST(TopEntropyThresholdTest, KeepsEveryTokenForQuantileOneOrNoTokens) {
  const double all = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(TopEntropyThreshold({1.0, 2.0}, 1.0), all);
  EXPECT_EQ(TopEntropyThreshold({}, 0.2), all);
}

}  // namespace

}  // namespace reprise::rl
