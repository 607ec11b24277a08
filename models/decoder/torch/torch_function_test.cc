#include "models/decoder/torch/torch_function.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ATen/Parallel.h"
#include "ATen/ops/from_blob.h"
#include "ATen/ops/linear.h"
#include "ATen/ops/log_softmax.h"
#include "gtest/gtest.h"
#include "models/decoder/scoring.h"
#include "models/decoder/testing/testing.h"
#include "torch/csrc/autograd/autograd.h"

namespace reprise::models {
namespace {

using testing::RandomModel;
using testing::RandomTokens;
using testing::SequenceBatch;
using testing::SmallConfig;
using torch::autograd::grad;
using torch::autograd::variable_list;

at::Tensor TokenTensor(const std::vector<int32_t>& tokens) {
  std::vector<int64_t> wide(tokens.begin(), tokens.end());
  return at::from_blob(wide.data(), {static_cast<int64_t>(wide.size())}, at::kLong).clone();
}

// Compares the bits of `ours` with the native gradient of the same tensor.
void ExpectSameBits(const at::Tensor& ours, const ParameterSpec& spec, const std::vector<float>& native) {
  ASSERT_TRUE(ours.defined()) << spec.name;
  ASSERT_EQ(ours.numel(), spec.size) << spec.name;
  EXPECT_EQ(std::memcmp(ours.contiguous().const_data_ptr<float>(), native.data() + spec.offset,
                        static_cast<size_t>(spec.size) * sizeof(float)),
            0)
      << spec.name;
}

class TorchFunctionTest : public ::testing::TestWithParam<bool> {
 protected:
  TorchFunctionTest() {
    at::set_num_threads(1);
    config_.tie_word_embeddings = GetParam();
    model_ = RandomModel(config_, 4);
    parameters_ = TorchParameters(model_.get());
  }

  // Returns whether the hidden states depend on parameter i.
  bool Used(size_t i) const { return GetParam() || static_cast<int>(i) != model_->layout().lm_head; }

  std::vector<float> NativeGradient(const PackedBatch& batch, const at::Tensor& dhidden_TD) const {
    Activations activations(config_, /*training=*/true);
    Forward(model_->decoder(), batch, nullptr, &activations);
    std::vector<float> total(static_cast<size_t>(model_->layout().total));
    ShardGradient gradient;
    StartShard(config_, model_->layout(), total.data(), nullptr, &gradient);
    at::Tensor destroyed_TD = dhidden_TD.contiguous().clone();
    Backward(model_->decoder(), {}, &activations, nullptr, destroyed_TD.mutable_data_ptr<float>(), {&gradient});
    return total;
  }

  DecoderConfig config_ = SmallConfig();
  std::unique_ptr<Model> model_;
  std::vector<at::Tensor> parameters_;
};

INSTANTIATE_TEST_SUITE_P(TiedOrNot, TorchFunctionTest, ::testing::Bool());

// A head that exists only in this test.
at::Tensor SmallHead(const at::Tensor& hidden_TD) { return hidden_TD.tanh().mul(hidden_TD.sin()).sum(); }

TEST_P(TorchFunctionTest, HiddenStatesAreTheNativeOnes) {
  const std::vector<int32_t> tokens = RandomTokens(config_, 1, 19);
  const at::Tensor hidden_TD = DecoderHidden(*model_, TokenTensor(tokens), parameters_);
  Activations activations(config_, /*training=*/true);
  Forward(model_->decoder(), SequenceBatch(tokens), nullptr, &activations);
  ASSERT_EQ(hidden_TD.sizes(), at::IntArrayRef({19, config_.hidden_size}));
  EXPECT_EQ(std::memcmp(hidden_TD.const_data_ptr<float>(), activations.hidden_TD().data,
                        static_cast<size_t>(hidden_TD.numel()) * sizeof(float)),
            0);
}

TEST_P(TorchFunctionTest, GradientsThroughAHeadOfLibTorchAreTheNativeOnes) {
  const std::vector<int32_t> tokens = RandomTokens(config_, 2, 23);
  const at::Tensor hidden_TD = DecoderHidden(*model_, TokenTensor(tokens), parameters_);
  const at::Tensor loss = SmallHead(hidden_TD);
  const at::Tensor dhidden_TD = grad({loss}, {hidden_TD}, {}, /*retain_graph=*/true)[0];
  const variable_list gradients =
      grad({loss}, parameters_, {}, /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
  const std::vector<float> native = NativeGradient(SequenceBatch(tokens), dhidden_TD);
  for (size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_EQ(gradients[i].defined(), Used(i)) << i;
    if (Used(i)) ExpectSameBits(gradients[i], model_->layout().specs[i], native);
    EXPECT_FALSE(parameters_[i].grad().defined()) << i;
  }
}

TEST_P(TorchFunctionTest, ARetainedGraphGivesTheSameGradientsAgain) {
  const at::Tensor loss = SmallHead(DecoderHidden(*model_, TokenTensor(RandomTokens(config_, 3, 14)), parameters_));
  const variable_list first = grad({loss}, parameters_, {}, /*retain_graph=*/true, false, /*allow_unused=*/true);
  const variable_list second = grad({loss}, parameters_, {}, /*retain_graph=*/false, false, /*allow_unused=*/true);
  for (size_t i = 0; i < first.size(); ++i) {
    if (Used(i)) {
      EXPECT_TRUE(first[i].equal(second[i])) << model_->layout().specs[i].name;
    }
  }
}

TEST_P(TorchFunctionTest, TrainsThroughPromptsThatCompletionsShare) {
  PackedBatch group;  // two completions, then their prompt
  const std::vector<int32_t> tokens = RandomTokens(config_, 5, 16);
  group.token_T = tokens;
  group.position_T = {6, 7, 8, 9, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5};
  group.segments = {{0, 4, 2}, {4, 6, 2}, {10, 6, kNoPrefix}};
  const at::Tensor hidden_TD = DecoderHidden(*model_, group, parameters_);
  const at::Tensor loss = SmallHead(hidden_TD);
  const at::Tensor dhidden_TD = grad({loss}, {hidden_TD}, {}, /*retain_graph=*/true)[0];
  const variable_list gradients = grad({loss}, parameters_, {}, {}, false, /*allow_unused=*/true);
  const std::vector<float> native = NativeGradient(group, dhidden_TD);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (Used(i)) ExpectSameBits(gradients[i], model_->layout().specs[i], native);
  }
}

// Compares LibTorch's language-model head on the same leaf with the native one: all parameters, including a tied
// lm-head.
TEST_P(TorchFunctionTest, CrossEntropyThroughLibTorchsHeadAgreesWithTheNativeHead) {
  const std::vector<int32_t> tokens = RandomTokens(config_, 7, 17);
  const size_t head = static_cast<size_t>(model_->layout().lm_head);
  const at::Tensor hidden_TD = DecoderHidden(*model_, TokenTensor(tokens), parameters_);
  const at::Tensor logprob_TV = at::log_softmax(at::linear(hidden_TD, parameters_[head]), -1);
  const std::vector<int32_t> targets(tokens.begin() + 1, tokens.end());
  const at::Tensor loss = logprob_TV.narrow(0, 0, 16).gather(1, TokenTensor(targets).unsqueeze(1)).mean().neg();
  const variable_list gradients = grad({loss}, parameters_);

  Activations activations(config_, /*training=*/true);
  Forward(model_->decoder(), SequenceBatch(tokens), nullptr, &activations);
  ScoredRows rows;
  for (int64_t t = 0; t < 16; ++t) rows.Add(t, &targets[t], 1);
  ScoreBuffers buffers;
  ScoreForward(model_->decoder(), activations, rows, 1.0f, &buffers);
  std::vector<float> total(static_cast<size_t>(model_->layout().total));
  std::vector<float> dhidden_TD(static_cast<size_t>(hidden_TD.numel()));
  const std::vector<float> dlogprob(16, -1.0f / 16);
  ShardGradient gradient;
  StartShard(config_, model_->layout(), total.data(), nullptr, &gradient);
  ScoreBackward(model_->decoder(), activations, rows, {.dlogprob = dlogprob.data()}, &buffers, dhidden_TD.data(),
                {&gradient});
  Backward(model_->decoder(), {}, &activations, nullptr, dhidden_TD.data(), {&gradient});
  for (size_t i = 0; i < gradients.size(); ++i) {
    const ParameterSpec& spec = model_->layout().specs[i];
    const at::Tensor native = at::from_blob(total.data() + spec.offset, spec.shape, at::kFloat);
    const float scale = std::max(1.0f, native.abs().max().item<float>());
    EXPECT_LE(gradients[i].sub(native).abs().max().item<float>(), 2e-6f * scale) << spec.name;
  }
}

// An encoder's embedding is a mean over the tokens; the tensors of its heads are leaves like others.
TEST(TorchEncoderTest, AnEmbeddingsGradientReachesTheEncoderAndNotTheHeadsBehindIt) {
  at::set_num_threads(1);
  const DecoderConfig config = SmallConfig();
  DecoderLayout layout = TrunkLayout(config);
  layout.Append("head.weight", {3, config.hidden_size}, ParameterKind::kHead);
  const std::unique_ptr<Model> model = Model::CreateEncoder(config, layout, /*training=*/true);
  InitializeParameters(config, model->layout(), 4, model->mutable_parameters());
  ThreadPool pool(1);
  model->Refresh(pool);
  const std::vector<at::Tensor> parameters = TorchParameters(model.get());
  const at::Tensor embedding_D = DecoderHidden(*model, TokenTensor(RandomTokens(config, 2, 31)), parameters).mean(0);
  const variable_list of_encoder =
      grad({embedding_D.sin().sum()}, parameters, {}, /*retain_graph=*/true, false, /*allow_unused=*/true);
  for (int i = 0; i <= layout.final_norm; ++i) {
    const at::Tensor& gradient = of_encoder[i];
    ASSERT_TRUE(gradient.defined()) << layout.specs[i].name;
    EXPECT_GT(gradient.abs().max().item<float>(), 0) << layout.specs[i].name;
  }
  EXPECT_FALSE(of_encoder.back().defined());
  const variable_list of_all = grad({at::linear(embedding_D, parameters.back()).sum()}, parameters);
  EXPECT_TRUE(of_all.back().equal(embedding_D.detach().expand({3, config.hidden_size})));
}

TEST_P(TorchFunctionTest, RefusesForeignParametersAndSecondDerivatives) {
  const at::Tensor tokens_T = TokenTensor(RandomTokens(config_, 8, 5));
  std::vector<at::Tensor> foreign = parameters_;
  foreign[0] = foreign[0].clone();
  EXPECT_DEATH(DecoderHidden(*model_, tokens_T, foreign), "Check failed");
  const at::Tensor loss = SmallHead(DecoderHidden(*model_, tokens_T, parameters_));
  EXPECT_DEATH(grad({loss}, parameters_, {}, {}, /*create_graph=*/true, /*allow_unused=*/true), "Check failed");
}

TEST_P(TorchFunctionTest, AStepOnTheLeavesMovesTheModel) {
  const at::Tensor tokens_T = TokenTensor(RandomTokens(config_, 9, 12));
  double before = 0;
  for (int step = 0; step < 3; ++step) {
    const at::Tensor loss = SmallHead(DecoderHidden(*model_, tokens_T, parameters_));
    const double now = loss.item<double>();
    if (step > 0) {
      EXPECT_LT(now, before);
    }
    before = now;
    const variable_list gradients = grad({loss}, parameters_, {}, {}, false, /*allow_unused=*/true);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].defined()) parameters_[i].detach().sub_(gradients[i], 1e-4);
    }
    ThreadPool pool(1);
    model_->Refresh(pool);
  }
}

}  // namespace
}  // namespace reprise::models
