#include <algorithm>
#include <cmath>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_reference.h"
#include "kernels/attention/head_call.h"
#include "kernels/attention/on_every_isa.h"
#include "rapidcheck/gtest.h"

namespace reprise::kernels {
namespace {

using testing::DifferingBits;
using testing::Gradients;
using testing::Head;
using testing::HeadCall;
using testing::OnEveryIsa;
using testing::Oracle;
using testing::OracleOf;
using testing::Order;
using testing::RandomHead;
using testing::ReferenceBackward;

int64_t Differing(const Gradients& a, const Gradients& b) {
  return DifferingBits(a.dq_TD, b.dq_TD) + DifferingBits(a.dk_SD, b.dk_SD) + DifferingBits(a.dv_SD, b.dv_SD);
}

// What adding the chains to zeros gives: -0 becomes +0.
Gradients AddedToZero(Gradients chains) {
  for (float& x : chains.dk_SD) x += 0.0f;
  for (float& x : chains.dv_SD) x += 0.0f;
  return chains;
}

class AttentionBackwardShapes : public ::testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(AttentionBackwardShapes, EqualTheScalarReferenceBitForBit) {
  const auto [P, T] = GetParam();
  for (int64_t D : {2, 6, 16, 18, 32, 64}) {
    SCOPED_TRACE(::testing::Message() << "head width " << D);
    const Head head = RandomHead(P, T, D, static_cast<uint32_t>(P * 1000 + T));
    const Gradients expected = AddedToZero(ReferenceBackward(head));
    OnEveryIsa([&] {
      const Gradients gradients = HeadCall(head).Backward();
      EXPECT_EQ(DifferingBits(gradients.dq_TD, expected.dq_TD), 0);
      EXPECT_EQ(DifferingBits(gradients.dk_SD, expected.dk_SD), 0);
      EXPECT_EQ(DifferingBits(gradients.dv_SD, expected.dv_SD), 0);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionBackwardShapes,
                         ::testing::Values(std::pair(0, 0), std::pair(5, 0), std::pair(0, 1), std::pair(0, 8),
                                           std::pair(0, 33), std::pair(1, 1), std::pair(1, 70), std::pair(31, 15),
                                           std::pair(32, 16), std::pair(33, 64), std::pair(100, 1), std::pair(100, 29),
                                           std::pair(511, 9), std::pair(600, 37)));

TEST(AttentionBackwardTest, EqualsTheScalarReferenceOverSeveralSegmentsAndBlocks) {
  for (const auto& [P, T] : {std::pair(0, 513), std::pair(100, 700), std::pair(600, 520)}) {
    const Head head = RandomHead(P, T, 6, 5);
    const Gradients expected = AddedToZero(ReferenceBackward(head));
    OnEveryIsa([&] { EXPECT_EQ(Differing(HeadCall(head).Backward(), expected), 0) << P << " " << T; });
  }
}

RC_GTEST_PROP(AttentionBackwardProperty, EqualsTheScalarReference, ()) {
  const Head head = RandomHead(*rc::gen::inRange(0, 70), *rc::gen::inRange(0, 50), 2 * *rc::gen::inRange(1, 40),
                               *rc::gen::arbitrary<uint32_t>());
  const Gradients expected = AddedToZero(ReferenceBackward(head));
  for (Isa isa : AvailableIsas()) {
    SetIsaForTest(isa);
    RC_ASSERT(Differing(HeadCall(head).Backward(), expected) == 0);
  }
}

TEST(AttentionBackwardTest, CallsAddTheirChainsToSharedKeysInOrder) {
  // Three query heads of one key head, two of them with other queries over the same keys.
  Head head = RandomHead(40, 25, 16, 9);
  Gradients kernel{{}, std::vector<float>(head.k_SD.size(), 0.5f), std::vector<float>(head.k_SD.size(), -0.25f)};
  Gradients expected = kernel;
  for (uint32_t call = 0; call < 3; ++call) {
    const Head other = RandomHead(40, 25, 16, 100 + call);
    head.q_TD = other.q_TD;
    head.dout_TD = other.dout_TD;
    const HeadCall head_call(head);
    head_call.Backward(head_call.Forward().statistics_T2, &kernel);
    const Gradients chains = ReferenceBackward(head);
    for (size_t i = 0; i < chains.dk_SD.size(); ++i) expected.dk_SD[i] += chains.dk_SD[i];
    for (size_t i = 0; i < chains.dv_SD.size(); ++i) expected.dv_SD[i] += chains.dv_SD[i];
    expected.dq_TD = chains.dq_TD;
    EXPECT_EQ(Differing(kernel, expected), 0) << "call " << call;
  }
}

TEST(AttentionBackwardTest, WhereThePrefixEndsDoesNotMatterForQueries) {
  const Head head = RandomHead(70, 40, 32, 2);
  Head whole = RandomHead(0, 110, 32, 2);  // the same keys as one sequence, of which the last 40 queries count
  std::copy(head.k_SD.begin(), head.k_SD.end(), whole.k_SD.begin());
  std::copy(head.v_SD.begin(), head.v_SD.end(), whole.v_SD.begin());
  std::copy(head.q_TD.begin(), head.q_TD.end(), whole.q_TD.begin() + 70 * 32);
  std::copy(head.dout_TD.begin(), head.dout_TD.end(), whole.dout_TD.begin() + 70 * 32);
  std::fill(whole.dout_TD.begin(), whole.dout_TD.begin() + 70 * 32, 0.0f);
  OnEveryIsa([&] {
    const Gradients a = HeadCall(head).Backward();
    const Gradients b = HeadCall(whole).Backward();
    EXPECT_EQ(DifferingBits(a.dq_TD, {b.dq_TD.begin() + 70 * 32, b.dq_TD.end()}), 0);
    EXPECT_EQ(DifferingBits(a.dk_SD, b.dk_SD), 0);
    EXPECT_EQ(DifferingBits(a.dv_SD, b.dv_SD), 0);
  });
}

double RelativeError(const std::vector<float>& x, const std::vector<double>& exact) {
  double squared_error = 0, squared = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    squared_error += (x[i] - exact[i]) * (x[i] - exact[i]);
    squared += exact[i] * exact[i];
  }
  return std::sqrt(squared_error / squared);
}

TEST(AttentionBackwardTest, IsCloseToTheDoubleOracle) {
  for (int64_t P : {0, 100, 600}) {
    const Head head = RandomHead(P, 64, 64, 3);
    const Oracle oracle = OracleOf(head);
    OnEveryIsa([&] {
      const Gradients gradients = HeadCall(head).Backward();
      EXPECT_LT(RelativeError(gradients.dq_TD, oracle.dq_TD), 3e-6);
      EXPECT_LT(RelativeError(gradients.dk_SD, oracle.dk_SD), 3e-6);
      EXPECT_LT(RelativeError(gradients.dv_SD, oracle.dv_SD), 3e-6);
    });
  }
}

// sum of dout * out, in double.
double Objective(const Head& head) {
  const Oracle oracle = OracleOf(head);
  double sum = 0;
  for (size_t i = 0; i < oracle.out_TD.size(); ++i) sum += oracle.out_TD[i] * head.dout_TD[i];
  return sum;
}

void ExpectSlopes(Head head, std::vector<float> Head::* input, const std::vector<float>& gradient) {
  for (size_t i = 0; i < gradient.size(); ++i) {
    float& x = (head.*input)[i];
    const float middle = x;
    const float high = middle + 0x1p-10f;
    const float low = middle - 0x1p-10f;
    x = high;
    const double up = Objective(head);
    x = low;
    const double down = Objective(head);
    x = middle;
    EXPECT_NEAR(gradient[i], (up - down) / (static_cast<double>(high) - low), 1e-4) << "element " << i;
  }
}

TEST(AttentionBackwardTest, AgreesWithFiniteDifferences) {
  const Head head = RandomHead(3, 5, 6, 11);
  const Gradients gradients = HeadCall(head).Backward();
  ExpectSlopes(head, &Head::q_TD, gradients.dq_TD);
  ExpectSlopes(head, &Head::k_SD, gradients.dk_SD);
  ExpectSlopes(head, &Head::v_SD, gradients.dv_SD);
}

TEST(AttentionBackwardTest, TheComparisonSeesAFlippedBitAndASwappedOrder) {
  const Head head = RandomHead(33, 64, 16, 7);
  const Gradients gradients = HeadCall(head).Backward();
  const Gradients swapped = AddedToZero(ReferenceBackward(head, Order::kDescending));
  EXPECT_GT(DifferingBits(gradients.dq_TD, swapped.dq_TD), 0);
  EXPECT_GT(DifferingBits(gradients.dk_SD, swapped.dk_SD), 0);
  EXPECT_GT(DifferingBits(gradients.dv_SD, swapped.dv_SD), 0);
  Head flipped = head;
  flipped.dout_TD[40] = std::nextafter(flipped.dout_TD[40], 10.0f);
  EXPECT_GT(Differing(gradients, AddedToZero(ReferenceBackward(flipped))), 0);
}

}  // namespace
}  // namespace reprise::kernels
