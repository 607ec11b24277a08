#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "kernels/lm_head/lm_head.h"
#include "kernels/lm_head/lm_head_reference.h"
#include "kernels/testing/kernel_testing.h"
#include "rapidcheck/gtest.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::HeadOracle;
using ::reprise::testing::HeadOutputs;
using ::reprise::testing::HeadProblem;
using ::reprise::testing::KernelHeadForward;
using ::reprise::testing::LargestError;
using ::reprise::testing::RandomProblem;
using ::reprise::testing::ReferenceHeadForward;
using ::reprise::testing::RowsOf;
using ::reprise::testing::WithOneBitFlipped;

void ExpectReference(const HeadProblem& problem) {
  SCOPED_TRACE(::testing::Message() << problem.R << " rows, vocabulary " << problem.V << ", width " << problem.D);
  const HeadOutputs expected = ReferenceHeadForward(problem);
  ForEachIsa([&] {
    const HeadOutputs outputs = KernelHeadForward(problem);
    EXPECT_TRUE(BitEqual(expected.logprob, outputs.logprob));
    EXPECT_TRUE(BitEqual(expected.statistics_R4, outputs.statistics_R4));
  });
}

TEST(LmHeadForwardTest, EqualsTheScalarReferenceBitForBit) {
  for (float temperature : {1.0f, 0.7f}) {
    for (int64_t V : {1, 2, 31, 64, 65, 128, 257, 512}) {
      for (int64_t R : {0, 1, 2, 70}) ExpectReference(RandomProblem(R, V, 18, temperature, V + R));
    }
    ExpectReference(RandomProblem(300, 130, 16, temperature, 1));
    ExpectReference(RandomProblem(3, 70, 600, temperature, 2));
  }
}

TEST(LmHeadForwardTest, EqualsTheScalarReferenceOverSeveralChunks) {
  for (int64_t V : {4096, 4097, 8192, 9000}) ExpectReference(RandomProblem(70, V, 6, 0.7f, V));
}

TEST(LmHeadForwardTest, RowsMayHaveDifferentTemperatures) {
  for (const int64_t V : {2, 130, 5000}) {
    HeadProblem problem = RandomProblem(70, V, 18, NAN, V);
    for (int64_t r = 0; r < problem.R; ++r) problem.temperature_R.push_back(r % 3 == 0 ? 1.0f : 0.5f + r % 5);
    ExpectReference(problem);
  }
}

RC_GTEST_PROP(LmHeadForwardProperty, ARowsBitsDoNotDependOnItsBatch, ()) {
  const int64_t R = *rc::gen::inRange(1, 80);
  const HeadProblem problem =
      RandomProblem(R, *rc::gen::inRange(1, 300), 2 * *rc::gen::inRange(1, 20), 0.7f, *rc::gen::arbitrary<uint32_t>());
  const int64_t row = *rc::gen::inRange<int64_t>(0, R);
  ForEachIsa([&] {
    const HeadOutputs all = KernelHeadForward(problem);
    const HeadOutputs one = KernelHeadForward(RowsOf(problem, row, row + 1));
    RC_ASSERT(BitEqual(absl::MakeConstSpan(all.statistics_R4).subspan(4 * row, 4), one.statistics_R4));
    RC_ASSERT(
        BitEqual(absl::MakeConstSpan(all.logprob).subspan(problem.first_target[row], one.logprob.size()), one.logprob));
  });
}

TEST(LmHeadForwardTest, LogProbabilitiesAndEntropiesAreCloseToTheExactOnes) {
  for (int64_t V : {2, 128, 5000}) {
    for (float temperature : {1.0f, 0.7f, 3.0f}) {
      const HeadProblem problem = RandomProblem(20, V, 64, temperature, V);
      const HeadOracle oracle = OracleOf(problem);
      const HeadOutputs outputs = KernelHeadForward(problem);
      std::vector<float> entropy;
      for (int64_t r = 0; r < problem.R; ++r) entropy.push_back(outputs.statistics_R4[4 * r + 3]);
      EXPECT_LT(LargestError(oracle.logprob, outputs.logprob), 2e-5);
      EXPECT_LT(LargestError(oracle.entropy_R, entropy), 2e-5);
    }
  }
}

TEST(LmHeadForwardTest, ProbabilitiesOfAllEntriesAddUpToOne) {
  HeadProblem problem = RandomProblem(1, 200, 16, 0.7f, 4);
  problem.target.clear();
  for (int32_t v = 0; v < 200; ++v) problem.target.push_back(v);
  problem.first_target = {0, 200};
  double sum = 0;
  for (float logprob : KernelHeadForward(problem).logprob) sum += std::exp(logprob);
  EXPECT_NEAR(sum, 1.0, 1e-6);
}

TEST(LmHeadForwardTest, TheComparisonDetectsAFlippedBitAnotherInputAndAnotherTemperature) {
  HeadProblem problem = RandomProblem(10, 128, 16, 0.7f, 4);
  const HeadOutputs outputs = KernelHeadForward(problem);
  EXPECT_FALSE(BitEqual(WithOneBitFlipped(outputs.logprob, 3), ReferenceHeadForward(problem).logprob));
  problem.hidden_RD[5] += 0x1p-12f;
  EXPECT_FALSE(BitEqual(outputs.statistics_R4, ReferenceHeadForward(problem).statistics_R4));
  problem.temperature = 1.0f;
  EXPECT_FALSE(BitEqual(outputs.logprob, ReferenceHeadForward(problem).logprob));
}

}  // namespace
}  // namespace reprise::kernels
