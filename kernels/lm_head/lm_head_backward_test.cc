#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/lm_head/lm_head.h"
#include "kernels/lm_head/lm_head_reference.h"
#include "kernels/testing/kernel_testing.h"
#include "rapidcheck/gtest.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::HeadGradients;
using ::reprise::testing::HeadProblem;
using ::reprise::testing::KernelHeadBackward;
using ::reprise::testing::OracleOf;
using ::reprise::testing::RandomProblem;
using ::reprise::testing::ReferenceHeadBackward;
using ::reprise::testing::WithOneBitFlipped;
using ::reprise::testing::WithReference;

::testing::AssertionResult Same(const HeadGradients& expected, const HeadGradients& actual) {
  if (auto dhidden = BitEqual(expected.dhidden_RD, actual.dhidden_RD); !dhidden) return dhidden << " in dhidden";
  return BitEqual(expected.dw_VD, actual.dw_VD) << " in dW";
}

void ExpectReference(const HeadProblem& problem, const std::vector<int64_t>& calls) {
  SCOPED_TRACE(::testing::Message() << problem.R << " rows, vocabulary " << problem.V << ", width " << problem.D);
  const HeadGradients expected = ReferenceHeadBackward(problem);
  ForEachIsa([&] { EXPECT_TRUE(Same(expected, KernelHeadBackward(problem, calls))); });
}

TEST(LmHeadBackwardTest, EqualsTheScalarReferenceBitForBit) {
  for (float temperature : {1.0f, 0.7f}) {
    for (int64_t V : {1, 2, 31, 64, 65, 128, 257, 512}) {
      for (int64_t R : {0, 1, 2, 70}) ExpectReference(RandomProblem(R, V, 18, temperature, V + R), {R});
    }
    ExpectReference(RandomProblem(3, 70, 300, temperature, 2), {3});
  }
}

TEST(LmHeadBackwardTest, EqualsTheScalarReferenceWithoutEntropyGradient) {
  HeadProblem problem = RandomProblem(70, 128, 16, 0.7f, 3);
  problem.dentropy_R.clear();
  ExpectReference(problem, {70});
}

TEST(LmHeadBackwardTest, ARowWithAnEntropyGradientOfZeroHasTheBitsOfOneWithout) {
  HeadProblem zeros = RandomProblem(9, 65, 16, 0.7f, 3), without = zeros;
  // Terms of -0 and of NaN would both be detected.
  zeros.dentropy_R.assign(9, 0.0f), without.dentropy_R.clear();
  ForEachIsa([&] { EXPECT_TRUE(Same(KernelHeadBackward(without, {9}), KernelHeadBackward(zeros, {9}))); });
  HeadProblem some = zeros;
  some.dentropy_R[2] = 0.5f;
  ExpectReference(some, {4, 5});
}

TEST(LmHeadBackwardTest, EqualsTheScalarReferenceWithADivergence) {
  for (float temperature : {1.0f, 0.7f}) {
    for (int64_t V : {1, 31, 64, 257, 512, 1100}) {
      ExpectReference(WithReference(RandomProblem(70, V, 18, temperature, V), 0.2f, 1), {70});
    }
  }
  ExpectReference(WithReference(RandomProblem(700, 600, 6, 0.7f, 1), 0.2f, 2), {1, 0, 510, 189});
}

void ExpectSlopes(HeadProblem problem, std::vector<float> HeadProblem::* input, const std::vector<float>& gradient) {
  for (size_t i = 0; i < gradient.size(); ++i) {
    float& x = (problem.*input)[i];
    const float middle = x, high = middle + 0x1p-10f, low = middle - 0x1p-10f;
    x = high;
    const double up = OracleOf(problem).objective;
    x = low;
    const double down = OracleOf(problem).objective;
    x = middle;
    EXPECT_NEAR(gradient[i], (up - down) / (static_cast<double>(high) - low), 1e-4) << "element " << i;
  }
}

TEST(LmHeadBackwardTest, EqualsTheScalarReferenceWithADivergenceOfTheReference) {
  for (int64_t V : {1, 31, 257, 1100}) {
    HeadProblem problem = WithReference(RandomProblem(70, V, 18, 0.7f, V), 0.2f, 1);
    problem.from_reference = true;
    ExpectReference(problem, {1, 69});
  }
  HeadProblem far = WithReference(RandomProblem(6, 11, 8, 0.7f, 5), 0.5f, 6);
  far.from_reference = true;
  const HeadGradients gradients = KernelHeadBackward(far, {6});
  ExpectSlopes(far, &HeadProblem::hidden_RD, gradients.dhidden_RD);
  ExpectSlopes(far, &HeadProblem::w_VD, gradients.dw_VD);
}

TEST(LmHeadBackwardTest, OfAFrozenHeadTheLastRowsMayLearn) {
  for (int64_t V : {1, 40, 520, 1100}) {
    for (int64_t trained : {int64_t{1}, std::min<int64_t>(V, 8), std::min<int64_t>(V, 600)}) {
      HeadProblem problem = RandomProblem(70, V, 18, 0.7f, V);
      problem.first_trained = V - trained;
      ExpectReference(problem, {30, 0, 40});
    }
  }
}

TEST(LmHeadBackwardTest, ARowWithADivergenceGradientOfZeroHasTheBitsOfOneWithout) {
  const HeadProblem without = RandomProblem(9, 65, 16, 0.7f, 3);
  HeadProblem zeros = WithReference(without, 0.2f, 3);
  zeros.ddivergence_R.assign(9, 0.0f);
  ForEachIsa([&] { EXPECT_TRUE(Same(KernelHeadBackward(without, {9}), KernelHeadBackward(zeros, {9}))); });
}

TEST(LmHeadBackwardTest, EqualsTheScalarReferenceOverSeveralSegmentsOfTheVocabulary) {
  for (int64_t V : {513, 1024, 4096, 5000}) ExpectReference(RandomProblem(40, V, 34, 0.7f, V), {40});
}

TEST(LmHeadBackwardTest, EqualsTheScalarReferenceOverSeveralSegmentsOfRows) {
  ExpectReference(RandomProblem(700, 600, 6, 0.7f, 1), {700});
}

TEST(LmHeadBackwardTest, DoesNotDependOnHowTheRowsAreSplitIntoCalls) {
  const HeadProblem problem = RandomProblem(1100, 70, 16, 0.7f, 1);
  ExpectReference(problem, {1, 0, 510, 1, 1, 88, 499});
  ExpectReference(problem, {300, 300, 500, 0});
  ExpectReference(RandomProblem(520, 520, 6, 1.0f, 1), {100, 420});
}

RC_GTEST_PROP(LmHeadBackwardProperty, EqualsTheScalarReferenceInAnyCalls, ()) {
  const HeadProblem problem = RandomProblem(*rc::gen::inRange(0, 60), *rc::gen::inRange(1, 300),
                                            2 * *rc::gen::inRange(1, 20), 0.7f, *rc::gen::arbitrary<uint32_t>());
  const int64_t cut = *rc::gen::inRange<int64_t>(0, problem.R + 1);
  const HeadGradients expected = ReferenceHeadBackward(problem);
  ForEachIsa([&] { RC_ASSERT(Same(expected, KernelHeadBackward(problem, {cut, problem.R - cut}))); });
}

TEST(LmHeadBackwardTest, AgreesWithFiniteDifferences) {
  for (float temperature : {1.0f, 0.7f}) {
    const HeadProblem problem = RandomProblem(6, 11, 8, temperature, 5);  // rows of 1, 0 and 3 targets
    const HeadGradients gradients = KernelHeadBackward(problem, {6});
    ExpectSlopes(problem, &HeadProblem::hidden_RD, gradients.dhidden_RD);
    ExpectSlopes(problem, &HeadProblem::w_VD, gradients.dw_VD);
    const HeadProblem far = WithReference(problem, 0.5f, 6);
    const HeadGradients of_divergence = KernelHeadBackward(far, {6});
    ExpectSlopes(far, &HeadProblem::hidden_RD, of_divergence.dhidden_RD);
    ExpectSlopes(far, &HeadProblem::w_VD, of_divergence.dw_VD);
  }
}

HeadProblem WithTemperatures(HeadProblem problem) {
  for (int64_t r = 0; r < problem.R; ++r) problem.temperature_R.push_back(r % 3 == 0 ? 1.0f : 0.5f + r % 5);
  return problem;
}

TEST(LmHeadBackwardTest, RowsMayHaveDifferentTemperatures) {
  ExpectReference(WithTemperatures(RandomProblem(70, 130, 18, NAN, 6)), {33, 37});
  ExpectReference(WithTemperatures(RandomProblem(5, 600, 6, NAN, 7)), {5});
  const HeadProblem problem = WithTemperatures(RandomProblem(6, 11, 8, NAN, 5));
  const HeadGradients gradients = KernelHeadBackward(problem, {6});
  ExpectSlopes(problem, &HeadProblem::hidden_RD, gradients.dhidden_RD);
  ExpectSlopes(problem, &HeadProblem::w_VD, gradients.dw_VD);
}

TEST(LmHeadBackwardTest, ARowWithoutTargetsHasNoGradient) {
  HeadProblem problem = RandomProblem(3, 50, 16, 0.7f, 5);
  problem.dentropy_R.clear();
  const HeadGradients gradients = KernelHeadBackward(problem, {3});
  for (int64_t c = 0; c < 16; ++c) EXPECT_EQ(gradients.dhidden_RD[16 + c], 0.0f);
}

TEST(LmHeadBackwardTest, TheComparisonDetectsAFlippedBitAndAnotherOrderOfRows) {
  HeadProblem problem = RandomProblem(64, 128, 16, 0.7f, 4);
  const HeadGradients gradients = KernelHeadBackward(problem, {64});
  HeadGradients flipped = ReferenceHeadBackward(problem);
  EXPECT_TRUE(Same(flipped, gradients));
  flipped.dw_VD = WithOneBitFlipped(flipped.dw_VD, 77);
  EXPECT_FALSE(Same(flipped, gradients));
  // Rows 0 and 3 have one target each: exchanging them changes the order of dW's chains and nothing else.
  std::swap_ranges(problem.hidden_RD.begin(), problem.hidden_RD.begin() + 16, problem.hidden_RD.begin() + 3 * 16);
  std::swap(problem.target[0], problem.target[4]);
  std::swap(problem.dlogprob[0], problem.dlogprob[4]);
  std::swap(problem.dentropy_R[0], problem.dentropy_R[3]);
  EXPECT_FALSE(BitEqual(ReferenceHeadBackward(problem).dw_VD, gradients.dw_VD));
}

}  // namespace
}  // namespace reprise::kernels
