// Weights in bf16 compute the same function as float weights rounded to bf16, forward and backward, bit for bit.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/products/packed_matrix.h"
#include "models/decoder/inference.h"
#include "models/decoder/scoring.h"
#include "models/decoder/testing/testing.h"

namespace reprise::models {
namespace {

constexpr float kTemperature = 0.7f;

// Has more tokens than a segment of the lm-head's input gradient.
DecoderConfig LargeVocabulary(bool tied) {
  DecoderConfig config = testing::SmallConfig();
  config.vocab_size = 1100;
  config.tie_word_embeddings = tied;
  return config;
}

// Returns a float model whose matrices, except the routers', hold those of `model`, rounded.
std::unique_ptr<Model> RoundedCopy(const Model& model) {
  DecoderConfig config = model.config();
  config.bf16_weights = false;
  std::unique_ptr<Model> copy = Model::Create(config, /*training=*/true);
  std::copy(model.parameters().begin(), model.parameters().end(), copy->mutable_parameters().begin());
  for (const ParameterSpec& spec : model.layout().specs) {
    if (spec.shape.size() != 2 || spec.name.find("mlp.gate.") != std::string::npos) continue;
    for (int64_t i = spec.offset; i < spec.offset + spec.size; ++i) {
      float& weight = copy->mutable_parameters()[i];
      weight = kernels::FromBf16(kernels::RoundToBf16(weight));
    }
  }
  ThreadPool pool(1);
  copy->Refresh(pool);
  return copy;
}

struct Outputs {
  std::vector<float> hidden_TD, logprob, gradient;
};

Outputs OutputsOf(const Model& model, const std::vector<int32_t>& tokens) {
  Activations activations(model.config(), /*training=*/true);
  Forward(model.decoder(), testing::SequenceBatch(tokens), nullptr, &activations);
  Outputs outputs;
  const int64_t floats = activations.rows() * model.config().hidden_size;
  outputs.hidden_TD.assign(activations.hidden_TD().data, activations.hidden_TD().data + floats);
  ScoredRows scored;
  for (size_t t = 0; t + 1 < tokens.size(); ++t) scored.Add(static_cast<int64_t>(t), &tokens[t + 1], 1);
  ScoreBuffers buffers;
  ScoreForward(model.decoder(), activations, scored, kTemperature, &buffers);
  outputs.logprob = buffers.logprob;
  const std::vector<float> dlogprob(tokens.size() - 1, 0.5f);
  std::vector<float> dhidden_TD(static_cast<size_t>(floats));
  outputs.gradient.assign(static_cast<size_t>(model.layout().total), 0.0f);
  ShardGradient gradient;
  StartShard(model.config(), model.layout(), outputs.gradient.data(), nullptr, &gradient);
  ScoreBackward(model.decoder(), activations, scored, {.dlogprob = dlogprob.data()}, &buffers, dhidden_TD.data(),
                {&gradient});
  Backward(model.decoder(), {}, &activations, nullptr, dhidden_TD.data(), {&gradient});
  return outputs;
}

class Bf16WeightsTest : public ::testing::TestWithParam<bool> {
 protected:
  Bf16WeightsTest() { config_.bf16_weights = true; }
  DecoderConfig config_ = LargeVocabulary(GetParam());
};

INSTANTIATE_TEST_SUITE_P(TiedOrNot, Bf16WeightsTest, ::testing::Bool());

TEST_P(Bf16WeightsTest, HaveTheBitsOfFloatsThatWereRounded) {
  const std::unique_ptr<Model> model = testing::RandomModel(config_, 5);
  const std::vector<int32_t> tokens = testing::RandomTokens(config_, 6, 40);
  const Outputs outputs = OutputsOf(*model, tokens), expected = OutputsOf(*RoundedCopy(*model), tokens);
  EXPECT_EQ(outputs.hidden_TD, expected.hidden_TD);
  EXPECT_EQ(outputs.logprob, expected.logprob);
  EXPECT_EQ(outputs.gradient, expected.gradient);
}

TEST_P(Bf16WeightsTest, DifferFromUnroundedFloats) {
  const std::unique_ptr<Model> model = testing::RandomModel(config_, 5);
  config_.bf16_weights = false;
  const std::unique_ptr<Model> floats = testing::RandomModel(config_, 5);
  const std::vector<int32_t> tokens = testing::RandomTokens(config_, 6, 40);
  EXPECT_NE(OutputsOf(*model, tokens).logprob, OutputsOf(*floats, tokens).logprob);
}

TEST_P(Bf16WeightsTest, SampleWithTheBitsThatTheyTrainWith) {
  const std::unique_ptr<Model> model = testing::RandomModel(config_, 5);
  const std::vector<int32_t> tokens = testing::RandomTokens(config_, 6, 40);
  const std::vector<float> expected = OutputsOf(*model, tokens).hidden_TD;
  Activations workspace(config_, /*training=*/false);
  KeyValueCache cache(config_, 40);
  for (size_t begin = 0, rows = 30; begin < tokens.size(); begin += rows, rows = 1) {  // prefill, then decode
    CachedBatch batch;
    for (size_t i = begin; i < begin + rows; ++i) {
      batch.rows.token_T.push_back(tokens[i]);
      batch.rows.position_T.push_back(static_cast<int32_t>(i));
    }
    batch.runs.push_back({0, static_cast<int64_t>(rows), &cache, nullptr});
    ForwardCached(model->decoder(), batch, &workspace, nullptr);
    const size_t width = static_cast<size_t>(config_.hidden_size);
    for (size_t i = 0; i < rows * width; ++i) ASSERT_EQ(workspace.hidden_TD().data[i], expected[begin * width + i]);
  }
}

TEST_P(Bf16WeightsTest, TakeHalfTheMemory) {
  config_.bf16_weights = false;
  const DecoderLayout layout = MakeDecoderLayout(config_);
  const int64_t floats = PackedWeights::Bytes(config_, layout, true);
  config_.bf16_weights = true;
  const int64_t embedding = layout.specs[layout.embedding].size;
  const int64_t bf16 = PackedWeights::Bytes(config_, layout, true) - 2 * embedding;
  EXPECT_GT(bf16, floats / 2);  // more than half, because routers are floats
  EXPECT_LT(bf16, floats * 6 / 10);
}

}  // namespace
}  // namespace reprise::models
