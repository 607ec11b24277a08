#include "models/olmoe/torch_olmoe.h"

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/ops/log_softmax.h"
#include "ATen/ops/zeros.h"
#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "torch/csrc/autograd/autograd.h"
#include "torch/optim/adamw.h"

namespace reprise::models {
namespace {

using reprise::testing::GoldenModels;
using reprise::testing::GoldensDirectory;
using reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using torch::autograd::grad;
using torch::autograd::variable_list;

constexpr char kText[] = "operation: pending; context: training";
constexpr int64_t kAction = 3;

void ExpectNear(const at::Tensor& ours, const std::vector<float>& native) {
  ASSERT_EQ(ours.numel(), static_cast<int64_t>(native.size()));
  const at::Tensor dense = ours.detach().contiguous();
  for (size_t i = 0; i < native.size(); ++i) EXPECT_NEAR(dense.const_data_ptr<float>()[i], native[i], 1e-5f) << i;
}

class TorchOlmoeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    ASSERT_OK(model_.Load(GoldensDirectory() + "/models/" + GoldenModels().at(0)));
    ASSERT_OK_AND_ASSIGN(TorchOlmoe in_torch, TorchOlmoe::Create(&model_));
    torch_ = std::make_unique<TorchOlmoe>(std::move(in_torch));
  }

  // -log of the action's probability.
  at::Tensor Loss() const {
    return at::log_softmax(*torch_->ActionLogits(*torch_->Encode(kText)), -1).narrow(0, kAction, 1).sum().neg();
  }

  // The same by the native forward passes, in double.
  double NativeLoss() const {
    const std::vector<float> logits = *model_.ActionLogits(*model_.Encode(kText));
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    return std::log(sum) - static_cast<double>(logits[kAction]);
  }

  ThreadPool pool_{1};
  OlmoeModel model_{pool_};
  std::unique_ptr<TorchOlmoe> torch_;
};

TEST_F(TorchOlmoeTest, NeedsATrainableModel) {
  OlmoeModel model(pool_);
  EXPECT_THAT(TorchOlmoe::Create(&model), StatusIs(absl::StatusCode::kFailedPrecondition, "Model not loaded"));
  ASSERT_OK(model.Load(model_.Info().model_name, Backend::kInference));
  EXPECT_THAT(TorchOlmoe::Create(&model), StatusIs(absl::StatusCode::kFailedPrecondition, std::string(kNoActionHead)));
}

TEST_F(TorchOlmoeTest, EncodesAndScoresAsTheNativeModel) {
  const std::vector<std::string> texts = {kText, "a", "operation: pending; step: 3"};
  const at::Tensor embedding_BD = *torch_->Encode(texts);
  const int64_t width = model_.model()->config().hidden_size;
  ASSERT_EQ(embedding_BD.sizes(), at::IntArrayRef({3, width}));
  const at::Tensor logits = *torch_->ActionLogits(embedding_BD);
  ASSERT_EQ(logits.sizes(), at::IntArrayRef({3, 6}));
  EXPECT_TRUE(logits.requires_grad());
  for (int64_t b = 0; b < 3; ++b) {
    const std::string& text = texts[b];
    const std::vector<float> native = *model_.Encode(text);
    ExpectNear(embedding_BD[b], native);
    ExpectNear(logits[b], *model_.ActionLogits(native));
    const at::Tensor alone = *torch_->Encode(text);
    ASSERT_EQ(alone.sizes(), at::IntArrayRef({width}));
    EXPECT_TRUE(alone.requires_grad());
    EXPECT_TRUE(alone.equal(embedding_BD[b]));
    ASSERT_EQ(torch_->ActionLogits(alone)->sizes(), at::IntArrayRef({6}));
  }
  EXPECT_NEAR(Loss().item<double>(), NativeLoss(), 1e-5);
}

TEST_F(TorchOlmoeTest, RefusesWhatItCannotEncodeOrScore) {
  EXPECT_THAT(torch_->Encode(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(torch_->Encode(std::vector<std::string>{"a", ""}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("text 1")));
  EXPECT_THAT(torch_->Encode(std::vector<std::string>()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no texts")));
  const DecoderConfig& config = model_.model()->config();
  EXPECT_THAT(torch_->ActionLogits(at::zeros({config.vocab_size})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(" " + std::to_string(config.vocab_size) + " elements"),
                             HasSubstr(" " + std::to_string(config.hidden_size) + " (hidden_dim)"))));
  for (const at::Tensor& tensor : {at::Tensor(), at::zeros({}), at::zeros({1, 1, config.hidden_size}),
                                   at::zeros({config.hidden_size}, at::kDouble)}) {
    EXPECT_THAT(torch_->ActionLogits(tensor),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("floats of one or two dimensions")));
  }
}

TEST_F(TorchOlmoeTest, TheGradientOfALossReachesEveryKindOfParameter) {
  const variable_list gradients = grad({Loss()}, torch_->parameters(), {}, {}, false, /*allow_unused=*/true);
  const std::vector<MutableTensor> parameters = model_.Parameters();
  ASSERT_EQ(gradients.size(), parameters.size());
  bool some_expert = false;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::string& name = parameters[i].name;
    const bool has_gradient = gradients[i].defined() && gradients[i].abs().sum().item<double>() > 0;
    if (name.find(".experts.") != std::string::npos) {
      some_expert |= has_gradient;  // one that no token chose has none
    } else {
      EXPECT_EQ(has_gradient, name != "lm_head.weight") << name;
    }
    EXPECT_FALSE(torch_->parameters()[i].grad().defined()) << name;
  }
  EXPECT_TRUE(some_expert);
}

TEST_F(TorchOlmoeTest, AnOptimizerOfLibTorchTrainsHeadAndEncoder) {
  const OlmoeModel reference = model_.Copy();
  const std::vector<float> embedding = *model_.Encode(kText), logits = *model_.ActionLogits(embedding);
  std::vector<std::vector<float>> before;
  for (const MutableTensor& parameter : model_.Parameters()) {
    before.emplace_back(parameter.values.begin(), parameter.values.end());
  }
  torch::optim::AdamW optimizer(torch_->parameters(), torch::optim::AdamWOptions(1e-3).weight_decay(0.0));
  double loss = NativeLoss();
  for (int step = 0; step < 12; ++step) {
    optimizer.zero_grad();
    Loss().backward();
    optimizer.step();
    model_.Refresh();
    EXPECT_LT(NativeLoss(), loss) << step;
    loss = NativeLoss();
  }
  EXPECT_GT(std::exp(-loss), 0.9);
  EXPECT_NEAR(Loss().item<double>(), loss, 1e-5);

  std::set<std::string> unchanged;
  const std::vector<MutableTensor> after = model_.Parameters();
  for (size_t i = 0; i < after.size(); ++i) {
    if (std::equal(before[i].begin(), before[i].end(), after[i].values.begin())) unchanged.insert(after[i].name);
  }
  EXPECT_TRUE(unchanged.erase("lm_head.weight") == 1);
  for (const std::string& name : unchanged) EXPECT_THAT(name, HasSubstr(".experts."));
  EXPECT_NE(*model_.Encode(kText), embedding);
  // The copy that was made before is still the model of the beginning.
  EXPECT_EQ(*reference.Encode(kText), embedding);
  EXPECT_EQ(*reference.ActionLogits(embedding), logits);
}

// The decoder is frozen: the optimizer has its adapters and the head.
TEST_F(TorchOlmoeTest, AnOptimizerOfLibTorchTrainsAdapters) {
  ASSERT_OK(model_.AddLoraAdapter({.r = 2, .alpha = 8, .targets = {true, true, true, true}}));
  ASSERT_OK_AND_ASSIGN(TorchOlmoe in_torch, TorchOlmoe::Create(&model_));
  torch_ = std::make_unique<TorchOlmoe>(std::move(in_torch));
  const size_t adapters = torch_->parameters().size() - 4;
  EXPECT_EQ(adapters, static_cast<size_t>(2 * 4 * model_.model()->config().num_hidden_layers));
  const variable_list decoder(torch_->parameters().begin(),
                              torch_->parameters().begin() + static_cast<int64_t>(adapters));
  const std::vector<float> embedding = *model_.Encode(kText);
  torch::optim::AdamW optimizer(decoder, torch::optim::AdamWOptions(1e-2).weight_decay(0.0));
  const double first = NativeLoss();
  for (int step = 0; step < 8; ++step) {
    optimizer.zero_grad();
    Loss().backward();
    optimizer.step();
    model_.Refresh();
  }
  EXPECT_LT(NativeLoss(), first - 1e-4);
  EXPECT_NE(*model_.Encode(kText), embedding);
}

}  // namespace
}  // namespace reprise::models
