#include "models/lora/adapter.h"

#include <cmath>
#include <vector>

#include "core/tensor/tensor.h"
#include "gtest/gtest.h"
#include "kernels/products/products.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::Rows;
using reprise::testing::BitEqual;
using reprise::testing::RandomNormals;

constexpr int64_t kRows = 21, kIn = 700, kOut = 45, kRank = 5;  // two segments of chains over the inputs
constexpr float kScale = 0.4f;

// An adapter with random matrices, and a call's random rows.
class AdapterTest : public ::testing::Test {
 protected:
  explicit AdapterTest(double dropout = 0) {
    adapter_.rank = kRank;
    adapter_.in = kIn;
    adapter_.out = kOut;
    adapter_.scale = kScale;
    adapter_.dropout = Dropout::Of(dropout, 3);
    packed_ = Tensor("", DType::kF32, {PackedAdapterFloats(adapter_)});
    PackAdapter(a_.data(), b_.data(), packed_.mutable_data<float>().data(), &adapter_);
    for (int64_t row = 0; row < kRows; ++row) seeds_.push_back(DropoutSeedOf({.seed = 5, .step = 2}, row));
  }

  ConstRows X() const { return {x_.data(), kRows, kIn}; }
  ConstRows Dy() const { return {dy_.data(), kRows, kOut}; }
  RowSeeds Seeds() const { return {seeds_.data()}; }

  // Returns y after the adapter's output was added.
  std::vector<float> Added() const {
    std::vector<float> y = y_;
    AddAdapter(adapter_, X(), Seeds(), {y.data(), kRows, kOut});
    return y;
  }

  struct Gradients {
    std::vector<float> a, b, dx;
  };
  // Returns the gradients of the rows in calls that end before each of `ends`.
  Gradients Backward(const std::vector<int64_t>& ends, const Team& team = Team()) const {
    Gradients gradients = {std::vector<float>(a_.size(), 7.0f), std::vector<float>(b_.size(), 7.0f), dx_};
    std::vector<float> open_a(a_.size()), open_b(b_.size());
    int64_t begin = 0;
    for (size_t call = 0; call < ends.size(); ++call) {
      const int64_t end = ends[call];
      const kernels::Range rows = {begin, end};
      const bool last = call + 1 == ends.size();
      AdapterBackward(
          adapter_, X().Slice(rows), Seeds().From(begin), Dy().Slice(rows),
          {{gradients.a.data(), open_a.data(), begin, last}, {gradients.b.data(), open_b.data(), begin, last}},
          Rows{gradients.dx.data(), kRows, kIn}.Slice(rows), team);
      begin = end;
    }
    return gradients;
  }

  std::vector<float> a_ = RandomNormals(kRank * kIn, 1, 0.1f), b_ = RandomNormals(kOut * kRank, 2),
                     x_ = RandomNormals(kRows * kIn, 3), y_ = RandomNormals(kRows * kOut, 4),
                     dy_ = RandomNormals(kRows * kOut, 5), dx_ = RandomNormals(kRows * kIn, 6);
  std::vector<uint64_t> seeds_;
  Tensor packed_;
  Adapter adapter_;
};

TEST_F(AdapterTest, AddsScaleTimesBAx) {
  const std::vector<float> y = Added();
  for (int64_t t = 0; t < kRows; ++t) {
    for (int64_t j = 0; j < kOut; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < kRank; ++i) {
        double u = 0;
        for (int64_t k = 0; k < kIn; ++k) u += static_cast<double>(a_[i * kIn + k]) * x_[t * kIn + k];
        sum += u * b_[j * kRank + i];
      }
      ASSERT_NEAR(y[t * kOut + j], y_[t * kOut + j] + kScale * sum, 2e-5) << t << " " << j;
    }
  }
}

TEST_F(AdapterTest, ARowsBitsDependOnThatRowAloneAndColumnsCanBeDivided) {
  const std::vector<float> y = Added();
  std::vector<float> one_by_one = y_;
  for (int64_t t = 0; t < kRows; ++t) {
    for (const kernels::Range& columns : {kernels::Range{0, 7}, kernels::Range{7, 40}, kernels::Range{40, kOut}}) {
      AddAdapter(adapter_, X().Slice({t, t + 1}), Seeds().From(t), {one_by_one.data() + t * kOut, 1, kOut}, columns);
    }
  }
  EXPECT_TRUE(BitEqual(y, one_by_one));
}

TEST_F(AdapterTest, TheMergedMatrixGivesTheSameOutputsWithinAMillionth) {
  const std::vector<float> w = RandomNormals(kOut * kIn, 8, 0.02f), x = RandomNormals(kRows * kIn, 9, 0.1f);
  const auto product = [&](const std::vector<float>& weights) {
    Tensor packed("", DType::kF32, {kernels::PackedSize(kOut, kIn)});
    kernels::PackForward(weights.data(), kOut, kIn, packed.mutable_data<float>().data(), 0, kernels::Panels(kOut));
    std::vector<float> y(kRows * kOut);
    kernels::Product({x.data(), kRows, kIn}, packed.data<float>().data(), {y.data(), kRows, kOut});
    return y;
  };
  std::vector<float> unmerged = product(w), merged_w = w;
  std::vector<float> small_b = b_;
  for (float& value : small_b) value *= 0.1f;
  PackAdapter(a_.data(), small_b.data(), packed_.mutable_data<float>().data(), &adapter_);
  AddAdapter(adapter_, {x.data(), kRows, kIn}, {}, {unmerged.data(), kRows, kOut});
  MergeAdapter(a_.data(), small_b.data(), kRank, kScale, {merged_w.data(), kOut, kIn});
  const std::vector<float> merged = product(merged_w);
  for (size_t i = 0; i < merged.size(); ++i) ASSERT_NEAR(merged[i], unmerged[i], 1e-6) << i;
}

// With dW = dy^T x, the gradient of the merged matrix: dB = scale * dW A^T, dA = scale * B^T dW, dx = scale * dy B A.
TEST_F(AdapterTest, GradientsAreTheProjectedGradientsOfTheMergedMatrix) {
  const Gradients gradients = Backward({kRows});
  std::vector<double> dw(kOut * kIn);
  for (int64_t t = 0; t < kRows; ++t) {
    for (int64_t j = 0; j < kOut; ++j) {
      for (int64_t k = 0; k < kIn; ++k) dw[j * kIn + k] += static_cast<double>(dy_[t * kOut + j]) * x_[t * kIn + k];
    }
  }
  for (int64_t i = 0; i < kRank; ++i) {
    for (int64_t j = 0; j < kOut; ++j) {
      double db = 0;
      for (int64_t k = 0; k < kIn; ++k) db += dw[j * kIn + k] * a_[i * kIn + k];
      ASSERT_NEAR(gradients.b[j * kRank + i], kScale * db, 1e-4) << i << " " << j;
    }
    for (int64_t k = 0; k < kIn; ++k) {
      double da = 0;
      for (int64_t j = 0; j < kOut; ++j) da += dw[j * kIn + k] * b_[j * kRank + i];
      ASSERT_NEAR(gradients.a[i * kIn + k], kScale * da, 1e-4) << i << " " << k;
    }
  }
  for (int64_t k = 0; k < kIn; ++k) {
    double dx = 0;
    for (int64_t i = 0; i < kRank; ++i) {
      for (int64_t j = 0; j < kOut; ++j) dx += static_cast<double>(dy_[j]) * b_[j * kRank + i] * a_[i * kIn + k];
    }
    ASSERT_NEAR(gradients.dx[k], dx_[k] + kScale * dx, 1e-4) << k;
  }
}

class DropoutTest : public AdapterTest {
 protected:
  DropoutTest() : AdapterTest(0.3) {}
};

TEST_F(DropoutTest, DropsAboutThatShareAndScalesTheRest) {
  std::vector<float> y(x_.size());
  ApplyDropout(adapter_.dropout, Seeds(), X(), {y.data(), kRows, kIn});
  int64_t dropped = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    dropped += y[i] == 0.0f ? 1 : 0;
    ASSERT_EQ(y[i], y[i] == 0.0f ? 0.0f : adapter_.dropout.scale * x_[i]) << i;
  }
  const double share = static_cast<double>(dropped) / static_cast<double>(y.size());
  EXPECT_NEAR(share, 0.3, 4 * std::sqrt(0.3 * 0.7 / static_cast<double>(y.size())));
  EXPECT_NEAR(adapter_.dropout.scale, 1 / 0.7, 1e-4);
}

TEST_F(DropoutTest, DependsOnTheRowsPlaceAndTheAdapterAlone) {
  const std::vector<float> y = Added();
  std::vector<float> last = {y_.end() - kOut, y_.end()};
  AddAdapter(adapter_, X().Slice({kRows - 1, kRows}), Seeds().From(kRows - 1), {last.data(), 1, kOut});
  EXPECT_TRUE(BitEqual({y.data() + (kRows - 1) * kOut, static_cast<size_t>(kOut)}, last));
  const DropoutPlace place = {.seed = 5, .step = 2, .prompt = 3, .sample = 4};
  const uint64_t seed = DropoutSeedOf(place, 6);
  for (const DropoutPlace& other : {DropoutPlace{.seed = 6, .step = 2, .prompt = 3, .sample = 4},
                                    DropoutPlace{.seed = 5, .step = 1, .prompt = 3, .sample = 4},
                                    DropoutPlace{.seed = 5, .step = 2, .prompt = 2, .sample = 4},
                                    DropoutPlace{.seed = 5, .step = 2, .prompt = 3, .sample = 3},
                                    DropoutPlace{.seed = 5, .step = 2, .prompt = 3, .sample = 4, .in_prompt = true},
                                    DropoutPlace{.seed = 5, .step = 2, .prompt = 3, .sample = 4, .in_sft = true}}) {
    EXPECT_NE(DropoutSeedOf(other, 6), seed);
  }
  EXPECT_NE(DropoutSeedOf(place, 5), seed);
  adapter_.dropout = Dropout::Of(0.3, 4);
  EXPECT_FALSE(BitEqual(y, Added()));
}

// The adapter is linear in x, so its output is <dx - what dx held, x> for dy = one unit vector after another.
TEST_F(DropoutTest, BackwardDropsTheElementsThatForwardDropped) {
  const std::vector<float> y = Added();
  const Gradients gradients = Backward({kRows});
  for (int64_t t = 0; t < kRows; ++t) {
    double forward = 0, backward = 0;
    for (int64_t j = 0; j < kOut; ++j) {
      forward += static_cast<double>(dy_[t * kOut + j]) * (y[t * kOut + j] - y_[t * kOut + j]);
    }
    for (int64_t k = 0; k < kIn; ++k) {
      backward += static_cast<double>(x_[t * kIn + k]) * (gradients.dx[t * kIn + k] - dx_[t * kIn + k]);
    }
    EXPECT_NEAR(forward, backward, 1e-3) << t;
  }
  // B's gradient contains A xd of the same mask: <dB, B> = <dy, y - y before>, and so does A's.
  double forward = 0, of_b = 0, of_a = 0;
  for (size_t i = 0; i < y.size(); ++i) forward += static_cast<double>(dy_[i]) * (y[i] - y_[i]);
  for (size_t i = 0; i < b_.size(); ++i) of_b += static_cast<double>(b_[i]) * gradients.b[i];
  for (size_t i = 0; i < a_.size(); ++i) of_a += static_cast<double>(a_[i]) * gradients.a[i];
  EXPECT_NEAR(forward, of_b, 1e-2);
  EXPECT_NEAR(forward, of_a, 1e-2);
}

TEST_F(DropoutTest, NeitherCallsNorThreadsChangeABitOfTheGradients) {
  const Gradients whole = Backward({kRows});
  ThreadPool pool(3);
  for (const Gradients& other : {Backward({1, 1, 9, kRows}), Backward({kRows, kRows}), Backward({kRows}, Team(pool))}) {
    EXPECT_TRUE(BitEqual(whole.a, other.a));
    EXPECT_TRUE(BitEqual(whole.b, other.b));
    EXPECT_TRUE(BitEqual(whole.dx, other.dx));
  }
  EXPECT_FALSE(BitEqual(whole.a, reprise::testing::WithOneBitFlipped(whole.a, 5)));
}

}  // namespace
}  // namespace reprise::models
