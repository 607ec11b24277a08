// Gradients of all functions of this room against finite differences, and what each promises beyond that.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "ATen/Parallel.h"
#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "models/morphogenesis/networks/autograd_node.h"
#include "models/morphogenesis/networks/blend_ops.h"
#include "models/morphogenesis/networks/image_ops.h"
#include "models/morphogenesis/networks/row_ops.h"
#include "models/morphogenesis/networks/token_ops.h"
#include "torch/csrc/autograd/autograd.h"

namespace reprise::models {
namespace {

at::Tensor Random(std::vector<int64_t> shape, uint64_t salt) {
  at::Tensor x = NewFloats(shape);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const DrawAt at = {.step = salt, .token = static_cast<uint64_t>(i)};
    MutableData(x)[i] = static_cast<float>(2 * DrawUniform(3, Purpose::kTest, at) - 1);
  }
  return x;
}

using Function = std::function<at::Tensor(const Tensors&)>;

double Weighted(const at::Tensor& y, const at::Tensor& weights) {
  double sum = 0;
  for (int64_t i = 0; i < y.numel(); ++i) {
    sum += static_cast<double>(Data(y)[i]) * static_cast<double>(Data(weights)[i]);
  }
  return sum;
}

// Compares the gradients of sum of w y, for random w, with central differences in some elements.
void CheckGradients(const char* name, Tensors inputs, const Function& f, float step = 1e-2f) {
  for (at::Tensor& input : inputs) input.set_requires_grad(true);
  const at::Tensor y = f(inputs);
  const at::Tensor w = y.dim() == 0 ? Random({1}, 77).squeeze(0) : Random(y.sizes().vec(), 77);
  const Tensors gradients = torch::autograd::grad({y}, inputs, {w}, {}, false, /*allow_unused=*/true);
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_TRUE(gradients[i].defined()) << name << i;
    Tensors plain;
    for (const at::Tensor& input : inputs) plain.push_back(input.detach());
    float* const values = MutableData(plain[i]);
    for (int64_t j = 0; j < plain[i].numel(); j += std::max<int64_t>(1, plain[i].numel() / 13)) {
      const float kept = values[j];
      values[j] = kept + step;
      const double above = Weighted(f(plain), w);
      values[j] = kept - step;
      const double below = Weighted(f(plain), w);
      values[j] = kept;
      const double expected = (above - below) / (2 * static_cast<double>(step));
      EXPECT_NEAR(Data(gradients[i])[j], expected, 2e-2 * std::max(1.0, std::fabs(expected)))
          << name << " input " << i << " element " << j;
    }
  }
}

class OpsTest : public ::testing::Test {
 protected:
  OpsTest() { at::set_num_threads(1); }
};

TEST_F(OpsTest, GradientsOfRowFunctionsAreThoseOfFiniteDifferences) {
  CheckGradients("linear", {Random({2, 3, 5}, 1), Random({7, 5}, 2), Random({7}, 3)},
                 [](const Tensors& x) { return Linear(x[0], x[1], x[2]); });
  CheckGradients("linear without bias", {Random({4, 5}, 1), Random({3, 5}, 2)},
                 [](const Tensors& x) { return Linear(x[0], x[1]); });
  CheckGradients("relu", {Random({4, 5}, 4).add_(3)}, [](const Tensors& x) { return Relu(x[0]); });
  CheckGradients("sigmoid", {Random({4, 5}, 5)}, [](const Tensors& x) { return Sigmoid(x[0]); });
  CheckGradients("gelu", {Random({4, 50}, 6)}, [](const Tensors& x) { return Gelu(x[0]); });
  CheckGradients("layer norm", {Random({3, 9}, 7), Random({9}, 8), Random({9}, 9)},
                 [](const Tensors& x) { return LayerNorm(x[0], x[1], x[2]); });
  CheckGradients("dropout", {Random({3, 11}, 10)}, [](const Tensors& x) { return DropElements(x[0], 0.3, {5, 1}); });
}

TEST_F(OpsTest, GradientsOfImageFunctionsAreThoseOfFiniteDifferences) {
  CheckGradients("convolution", {Random({2, 5, 4, 3}, 11), Random({6, 3, 3, 3}, 12)},
                 [](const Tensors& x) { return Convolve(x[0], x[1]); });
  CheckGradients("depthwise", {Random({2, 5, 4, 3}, 13), Random({3, 3, 3}, 14)},
                 [](const Tensors& x) { return ConvolveDepthwise(x[0], x[1]); });
  CheckGradients("pool", {Random({2, 4, 4, 3}, 15)}, [](const Tensors& x) { return MaxPool(x[0]); }, 1e-4f);
  CheckGradients("mean", {Random({2, 4, 4, 3}, 16)}, [](const Tensors& x) { return MeanOfImages(x[0]); });
  CheckGradients("scale", {Random({2, 4, 4, 3}, 17), Random({2, 3}, 18)},
                 [](const Tensors& x) { return ScaleChannels(x[0], x[1]); });
  CheckGradients("group norm", {Random({2, 4, 4, 6}, 19), Random({6}, 20), Random({6}, 21)},
                 [](const Tensors& x) { return GroupNorm(x[0], 3, x[1], x[2]); });
  CheckGradients("batch norm", {Random({2, 4, 4, 6}, 22), Random({6}, 23), Random({6}, 24)}, [](const Tensors& x) {
    return BatchNorm(x[0], x[1], x[2], {Random({6}, 25), Random({6}, 26)}, /*training=*/true);
  });
}

TEST_F(OpsTest, GradientsOfMixturesAreThoseOfFiniteDifferences) {
  const Tensors two = {Random({3, 5}, 27), Random({3, 5}, 28)};
  CheckGradients("add", two, [](const Tensors& x) { return Add(x[0], x[1]); });
  for (const float alpha : {0.0f, 0.3f, 0.7f, 1.0f}) {
    CheckGradients("blend", two, [alpha](const Tensors& x) { return Blend(x[0], x[1], alpha); });
  }
  CheckGradients("mix", {Random({3, 5}, 29), Random({3, 5}, 30), Random({1}, 31)},
                 [](const Tensors& x) { return Mix(x[0], x[1], x[2]); });
}

TEST_F(OpsTest, GradientsOfTokenFunctionsAreThoseOfFiniteDifferences) {
  const std::vector<int32_t> tokens = {1, 0, 4, 4, 2, 1}, targets = {0, 4, 1, 3, 3, 2};
  CheckGradients("embedding", {Random({5, 4}, 32), Random({8, 4}, 33)},
                 [&](const Tensors& x) { return EmbedTokens(tokens, 3, x[0], x[1]); });
  CheckGradients("attention", {Random({2, 5, 3 * 8}, 34)}, [](const Tensors& x) { return CausalAttention(x[0], 2); });
  CheckGradients("cross-entropy", {Random({6, 5}, 35)},
                 [&](const Tensors& x) { return CrossEntropy(x[0], targets).mean; });
  CheckGradients("token cross-entropy", {Random({2, 3, 4}, 36), Random({5, 4}, 37)},
                 [&](const Tensors& x) { return TokenCrossEntropy(x[0], x[1], targets).mean; });
}

TEST_F(OpsTest, CrossEntropyCountsTheRowsWhoseFirstGreatestLogitIsTheTarget) {
  at::Tensor logits = NewZerosLike(Random({3, 4}, 1));
  MutableData(logits)[1] = 1;
  const BatchLoss loss = CrossEntropy(logits, {1, 0, 3});
  EXPECT_EQ(loss.correct, 2);  // in rows of equal logits the first counts
  EXPECT_EQ(loss.total, 3);
  const double expected = (2 * std::log(4.0) + std::log(std::exp(1.0) + 3) - 1) / 3;
  EXPECT_NEAR(Data(loss.mean)[0], expected, 1e-6);
}

TEST_F(OpsTest, TokenCrossEntropyHasTheBitsOfCrossEntropyOfItsLogits) {
  const at::Tensor hidden = Random({5, 9, 16}, 40), table = Random({70, 16}, 41);
  std::vector<int32_t> targets;
  for (int32_t i = 0; i < 45; ++i) targets.push_back(i);
  const BatchLoss ours = TokenCrossEntropy(hidden, table, targets),
                  stored = CrossEntropy(Linear(hidden, table), targets);
  EXPECT_EQ(Data(ours.mean)[0], Data(stored.mean)[0]);
  EXPECT_EQ(ours.correct, stored.correct);
}

// The blocks of images affect no bit: one image at a time gives the same outputs as all together.
TEST_F(OpsTest, AnImagesConvolutionDependsOnItAlone) {
  const at::Tensor x = Random({9, 32, 32, 3}, 42), w = Random({8, 3, 3, 3}, 43);
  const at::Tensor together = Convolve(x, w);
  for (int64_t i = 0; i < 9; ++i) EXPECT_TRUE(Convolve(x.narrow(0, i, 1), w).equal(together.narrow(0, i, 1)));
}

TEST_F(OpsTest, AConvolutionIsTheSumOverItsWindow) {
  const at::Tensor x = Random({1, 3, 3, 2}, 44), w = Random({1, 3, 3, 2}, 45);
  double centre = 0;
  for (int64_t i = 0; i < 18; ++i) centre += static_cast<double>(Data(x)[i]) * static_cast<double>(Data(w)[i]);
  EXPECT_NEAR(Data(Convolve(x, w))[4], centre, 1e-5);
}

TEST_F(OpsTest, RunningStatisticsFollowTheBatches) {
  const at::Tensor x = Random({2, 2, 2, 1}, 46), gain = NewFloats({1}), bias = NewFloats({1});
  MutableData(gain)[0] = 1;
  MutableData(bias)[0] = 0;
  RunningStatistics running = {NewFloats({1}), NewFloats({1})};
  MutableData(running.mean_C)[0] = 5;
  MutableData(running.variance_C)[0] = 2;
  BatchNorm(x, gain, bias, running, /*training=*/true);
  double mean = 0, square = 0;
  for (int64_t i = 0; i < 8; ++i) mean += static_cast<double>(Data(x)[i]) / 8;
  for (int64_t i = 0; i < 8; ++i) square += std::pow(static_cast<double>(Data(x)[i]) - mean, 2);
  EXPECT_NEAR(Data(running.mean_C)[0], 0.9 * 5 + 0.1 * mean, 1e-6);
  EXPECT_NEAR(Data(running.variance_C)[0], 0.9 * 2 + 0.1 * square / 7, 1e-6);
  const at::Tensor y = BatchNorm(x, gain, bias, running, /*training=*/false);
  const double expected = (static_cast<double>(Data(x)[3]) - static_cast<double>(Data(running.mean_C)[0])) /
                          std::sqrt(static_cast<double>(Data(running.variance_C)[0]) + 1e-5);
  EXPECT_NEAR(Data(y)[3], expected, 1e-5);
}

TEST_F(OpsTest, AttentionSeesNoLaterToken) {
  const at::Tensor qkv = Random({1, 6, 3 * 8}, 47);
  const at::Tensor all = CausalAttention(qkv, 4), prefix = CausalAttention(qkv.narrow(1, 0, 4).contiguous(), 4);
  EXPECT_TRUE(all.narrow(1, 0, 4).equal(prefix));
}

TEST_F(OpsTest, StraightThroughKeepsTheValueOfTheHostEvenBesideNan) {
  const at::Tensor h = Random({4}, 48), s = Random({4}, 49);
  MutableData(s)[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(StraightThrough(h, s).equal(h));
  EXPECT_TRUE(Blend(h, s, 0).equal(h));
  EXPECT_TRUE(Blend(s, h, 1).equal(h));
}

TEST_F(OpsTest, DropoutKeepsTheShareThatItShould) {
  const at::Tensor ones = NewLike(Random({100, 100}, 50));
  std::fill_n(MutableData(ones), 10000, 1.0f);
  const at::Tensor y = DropElements(ones, 0.25, {9, 2});
  const auto dropped = std::count(Data(y), Data(y) + 10000, 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped), 2500, 200);
  EXPECT_EQ(*std::max_element(Data(y), Data(y) + 10000), 4.0f / 3);
  EXPECT_TRUE(y.equal(DropElements(ones, 0.25, {9, 2})));
  EXPECT_FALSE(y.equal(DropElements(ones, 0.25, {9, 3})));
  EXPECT_FALSE(y.equal(DropElements(ones, 0.25, {10, 2})));
}

}  // namespace
}  // namespace reprise::models
