#include "rl/testing/exact_divergence.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "rl/loss/terms.h"

namespace reprise::rl {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> LogSoftmax(const std::vector<double>& logit_V) {
  double sum = 0.0;
  for (double logit : logit_V) sum += std::exp(logit);
  std::vector<double> logprob_V;
  for (double logit : logit_V) logprob_V.push_back(logit - std::log(sum));
  return logprob_V;
}

std::vector<double> RandomLogits(int size) {
  std::vector<double> logit_V;
  for (int v = 0; v < size; ++v) logit_V.push_back(*rc::gen::inRange(-3000, 3000) * 1e-3);
  return logit_V;
}

TEST(ExactKlTest, MatchesTheDefinitionForACoin) {
  const ExactDivergence kl = ExactKl({std::log(0.75), std::log(0.25)}, {std::log(0.5), std::log(0.5)});
  EXPECT_NEAR(kl.value, 0.75 * std::log(1.5) + 0.25 * std::log(0.5), 1e-15);
}

TEST(ExactKlTest, IsExactlyZeroAtTheReference) {
  const std::vector<double> logprob_V = LogSoftmax({0.3, -1.0, 2.0});
  const ExactDivergence kl = ExactKl(logprob_V, logprob_V);
  EXPECT_EQ(kl.value, 0.0);
  EXPECT_EQ(kl.d_logit_V, (std::vector<double>{0, 0, 0}));
}

TEST(ExactKlTest, LeavesOutActionsThatAreNotAllowed) {
  const ExactDivergence kl = ExactKl({std::log(0.75), -kInf, std::log(0.25)}, {std::log(0.5), -kInf, std::log(0.5)});
  EXPECT_EQ(kl.value, ExactKl({std::log(0.75), std::log(0.25)}, {std::log(0.5), std::log(0.5)}).value);
  EXPECT_EQ(kl.d_logit_V[1], 0.0);
}

TEST(ExactKlDeathTest, RejectsAReferenceThatExcludesAnActionOfThePolicy) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(ExactKl({0.0}, {-kInf}), "CHECK failed");
}

RC_GTEST_PROP(ExactKlTest, GradientAgreesWithFiniteDifferences, ()) {
  const std::vector<double> logit_V = RandomLogits(4), ref_V = LogSoftmax(RandomLogits(4));
  const std::vector<double> d_logit_V = ExactKl(LogSoftmax(logit_V), ref_V).d_logit_V;
  for (size_t v = 0; v < logit_V.size(); ++v) {
    std::vector<double> up = logit_V, down = logit_V;
    up[v] += 1e-5;
    down[v] -= 1e-5;
    const double difference = (ExactKl(LogSoftmax(up), ref_V).value - ExactKl(LogSoftmax(down), ref_V).value) / 2e-5;
    RC_ASSERT(std::fabs(d_logit_V[v] - difference) < 1e-8);
  }
}

RC_GTEST_PROP(ExactKlTest, IsTheExpectationOfK1AndK3, ()) {
  const std::vector<double> logprob_V = LogSoftmax(RandomLogits(5)), ref_V = LogSoftmax(RandomLogits(5));
  for (KlEstimator estimator : {KlEstimator::kK1, KlEstimator::kK3}) {
    double expected = 0.0;
    for (size_t v = 0; v < logprob_V.size(); ++v) {
      expected +=
          std::exp(logprob_V[v]) * DivergenceTerm(logprob_V[v], ref_V[v], ComputeRatio(0.0), false, estimator).value;
    }
    RC_ASSERT(std::fabs(expected - ExactKl(logprob_V, ref_V).value) < 1e-12);
  }
}

}  // namespace
}  // namespace reprise::rl
