#include "kernels/lm_head/head_divergence.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/lm_head/lm_head_reference.h"
#include "kernels/testing/kernel_testing.h"
#include "rapidcheck/gtest.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::HeadProblem;
using ::reprise::testing::KernelHeadDivergence;
using ::reprise::testing::LargestError;
using ::reprise::testing::OracleOf;
using ::reprise::testing::RandomProblem;
using ::reprise::testing::ReferenceHeadDivergence;
using ::reprise::testing::RowsOf;
using ::reprise::testing::WithOneBitFlipped;
using ::reprise::testing::WithReference;

void ExpectReference(const HeadProblem& problem) {
  SCOPED_TRACE(::testing::Message() << problem.R << " rows, vocabulary " << problem.V << ", width " << problem.D);
  const std::vector<float> expected = ReferenceHeadDivergence(problem);
  ForEachIsa([&] { EXPECT_TRUE(BitEqual(expected, KernelHeadDivergence(problem))); });
}

TEST(HeadDivergenceTest, EqualsTheScalarReferenceBitForBit) {
  for (float temperature : {1.0f, 0.7f}) {
    for (int64_t V : {1, 2, 31, 64, 65, 128, 257, 512}) {
      for (int64_t R : {0, 1, 2, 70})
        ExpectReference(WithReference(RandomProblem(R, V, 18, temperature, V + R), 0.2f, 1));
    }
  }
}

TEST(HeadDivergenceTest, EqualsTheScalarReferenceOverSeveralChunks) {
  for (int64_t V : {4096, 4097, 9000}) ExpectReference(WithReference(RandomProblem(66, V, 6, 0.7f, V), 0.2f, 2));
}

TEST(HeadDivergenceTest, TheComparisonDetectsAFlippedBit) {
  const HeadProblem problem = WithReference(RandomProblem(9, 65, 16, 0.7f, 3), 0.2f, 3);
  EXPECT_FALSE(BitEqual(WithOneBitFlipped(ReferenceHeadDivergence(problem), 4), KernelHeadDivergence(problem)));
}

TEST(HeadDivergenceTest, IsCloseToTheExactDivergence) {
  const HeadProblem problem = WithReference(RandomProblem(40, 5000, 24, 0.7f, 4), 0.3f, 4);
  const std::vector<float> divergence_R = KernelHeadDivergence(problem);
  EXPECT_LT(LargestError(OracleOf(problem).divergence_R, divergence_R), 2e-6);
  EXPECT_GT(divergence_R[0], 0.01f);
}

TEST(HeadDivergenceTest, IsExactlyZeroForTheSameHead) {
  const HeadProblem problem = WithReference(RandomProblem(9, 300, 16, 0.7f, 5), 0.0f, 5);
  for (const float divergence : KernelHeadDivergence(problem)) EXPECT_EQ(divergence, 0.0f);
}

TEST(HeadDivergenceTest, IsNeverNegative) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const HeadProblem problem = WithReference(RandomProblem(30, 200, 8, 1.0f, seed), 1e-6f, seed);
    for (const float divergence : KernelHeadDivergence(problem)) EXPECT_GE(divergence, 0.0f);
  }
}

TEST(HeadDivergenceTest, IsNanForNanLogits) {
  HeadProblem problem = WithReference(RandomProblem(3, 70, 8, 1.0f, 6), 0.1f, 6);
  problem.reference_hidden_RD[8] = NAN;
  ForEachIsa([&] {
    const std::vector<float> divergence_R = KernelHeadDivergence(problem);
    EXPECT_FALSE(std::isnan(divergence_R[0]));
    EXPECT_TRUE(std::isnan(divergence_R[1]));
  });
}

RC_GTEST_PROP(HeadDivergenceProperty, ARowsBitsDoNotDependOnItsBatch, ()) {
  const int64_t R = *rc::gen::inRange(1, 80);
  const HeadProblem problem = WithReference(
      RandomProblem(R, *rc::gen::inRange(1, 300), 2 * *rc::gen::inRange(1, 20), 0.7f, *rc::gen::arbitrary<uint32_t>()),
      0.2f, 1);
  const int64_t row = *rc::gen::inRange<int64_t>(0, R);
  ForEachIsa([&] {
    const float all = KernelHeadDivergence(problem)[row];
    RC_ASSERT(KernelHeadDivergence(RowsOf(problem, row, row + 1))[0] == all);
  });
}

}  // namespace
}  // namespace reprise::kernels
