// A decoder with adapters: its layout, and its passes compared with those of the merged model without adapters.

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/decoder/corruption.h"
#include "models/decoder/inference.h"
#include "models/decoder/scoring.h"
#include "models/decoder/testing/reference_decoder.h"
#include "models/decoder/testing/testing.h"
#include "models/lora/adapter.h"

namespace reprise::models {
namespace {

using testing::RandomBase;
using testing::RandomModel;
using testing::RandomTokens;
using testing::SequenceBatch;

constexpr uint64_t kSeed = 11;
constexpr float kTemperature = 0.7f;

// With all experts for every row, rounding cannot change which experts a row chooses.
DecoderConfig LoraTestConfig() {
  DecoderConfig config = testing::SmallConfig();
  config.num_experts_per_tok = config.num_experts;
  config.lora.r = 3;
  config.lora.alpha = 4.5;
  return config;
}

DecoderConfig WithoutAdapters(DecoderConfig config) {
  config.lora = {};
  return config;
}

const ParameterSpec& SpecNamed(const FlatLayout& layout, const std::string& name) {
  return *std::find_if(layout.specs.begin(), layout.specs.end(),
                       [&](const ParameterSpec& spec) { return spec.name == name; });
}

// The tensors of one adapter, and the matrix that it is added to.
struct AdapterOf {
  const ParameterSpec &a, &b, &w;
};

std::vector<AdapterOf> AdaptersOf(const DecoderLayout& layout, const DecoderLayout& base) {
  const std::string prefix = "base_model.model.", ending = ".lora_A.weight";
  std::vector<AdapterOf> adapters;
  for (int spec = 0; spec < layout.policy_specs; spec += 2) {
    const ParameterSpec& a = layout.specs[spec];
    const std::string name = a.name.substr(prefix.size(), a.name.size() - prefix.size() - ending.size());
    adapters.push_back({a, layout.specs[static_cast<size_t>(spec) + 1], SpecNamed(base, name + ".weight")});
  }
  return adapters;
}

// Returns the base's parameters with the model's adapters merged in, in the base's layout.
std::vector<float> Merged(const Model& model) {
  const DecoderLayout base = MakeBaseLayout(model.config());
  std::vector<float> merged = RandomBase(model.config(), kSeed);
  for (const AdapterOf& of : AdaptersOf(model.layout(), base)) {
    MergeAdapter(model.parameters().data() + of.a.offset, model.parameters().data() + of.b.offset,
                 model.config().lora.r, model.config().lora.scale(),
                 {merged.data() + of.w.offset, of.w.shape[0], of.w.shape[1]});
  }
  return merged;
}

std::unique_ptr<Model> ModelOf(const DecoderConfig& config, const std::vector<float>& parameters) {
  std::unique_ptr<Model> model = Model::Create(config, /*training=*/true);
  std::copy(parameters.begin(), parameters.end(), model->mutable_parameters().begin());
  ThreadPool pool(1);
  model->Refresh(pool);
  return model;
}

std::vector<float> Hidden(const Model& model, const PackedBatch& batch) {
  Activations activations(model.config(), true);
  Forward(model.decoder(), batch, nullptr, &activations);
  const float* const hidden = activations.hidden_TD().data;
  return {hidden, hidden + activations.rows() * model.config().hidden_size};
}

// A sequence and the weights of its log-probabilities in the loss.
struct Problem {
  explicit Problem(const DecoderConfig& config) : tokens(RandomTokens(config, 7, 24)) {
    for (size_t t = 0; t + 1 < tokens.size(); ++t) weight_T.push_back(0.3f * static_cast<float>(t % 5) - 0.5f);
  }
  std::vector<int32_t> tokens;
  std::vector<float> weight_T;
  std::vector<uint64_t> dropout_T;
};

std::vector<float> Gradient(const Problem& problem, const Model& model, GradientSink* sink = nullptr,
                            bool recompute = false) {
  Activations activations(model.config(), true, recompute);
  PackedBatch batch = SequenceBatch(problem.tokens);
  batch.dropout_T = problem.dropout_T;
  Forward(model.decoder(), batch, nullptr, &activations);
  ScoredRows scored;
  for (size_t t = 0; t < problem.weight_T.size(); ++t) scored.Add(static_cast<int64_t>(t), &problem.tokens[t + 1], 1);
  ScoreBuffers buffers;
  ScoreForward(model.decoder(), activations, scored, kTemperature, &buffers);
  std::vector<float> total(static_cast<size_t>(model.layout().total)),
      dhidden(static_cast<size_t>(activations.rows() * model.config().hidden_size));
  ShardGradient gradient;
  StartShard(model.config(), model.layout(), total.data(), nullptr, &gradient);
  ScoreBackward(model.decoder(), activations, scored, {.dlogprob = problem.weight_T.data()}, &buffers, dhidden.data(),
                {&gradient, sink});
  Backward(model.decoder(), {}, &activations, nullptr, dhidden.data(), {&gradient, sink});
  return total;
}

TEST(LoraLayoutTest, HasTheAdaptersUnderTheNamesOfPeftAndNothingElse) {
  DecoderConfig config = LoraTestConfig();
  config.value_model = ValueModel::kHead;
  const DecoderLayout layout = MakeDecoderLayout(config);
  const int64_t modules = config.num_hidden_layers * (4 + 3 * config.num_experts);
  EXPECT_EQ(layout.policy_specs, 2 * modules);
  EXPECT_EQ(layout.specs[0].name, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
  EXPECT_EQ(layout.specs[0].shape, Shape({3, 24}));
  EXPECT_EQ(layout.specs[3].name, "base_model.model.model.layers.0.self_attn.k_proj.lora_B.weight");
  EXPECT_EQ(layout.specs[3].shape, Shape({12, 3}));
  const std::string last = "base_model.model.model.layers.1.mlp.experts.4.down_proj.lora_";
  EXPECT_EQ(layout.specs[static_cast<size_t>(layout.policy_specs) - 2].name, last + "A.weight");
  EXPECT_EQ(layout.specs[static_cast<size_t>(layout.policy_specs) - 2].shape, Shape({3, 20}));
  EXPECT_EQ(layout.specs[layout.value.weight].name, "v_head.summary.weight");
  EXPECT_EQ(PolicyPart(layout).specs.size(), static_cast<size_t>(2 * modules));
  const DecoderLayout whole = MakeDecoderLayout(WithoutAdapters(config));
  EXPECT_EQ(MakeBaseLayout(config).specs.size(), static_cast<size_t>(whole.policy_specs));
  config.lora.targets.fill(false);
  config.lora.targets[static_cast<size_t>(LoraModule::kV)] = true;
  EXPECT_EQ(MakeDecoderLayout(config).policy_specs, 2 * config.num_hidden_layers);
}

TEST(LoraLayoutTest, InitialAdaptersAddNothing) {
  const DecoderConfig config = LoraTestConfig();
  const std::unique_ptr<Model> model = RandomModel(config, kSeed);
  InitializeParameters(config, model->layout(), 4, model->mutable_parameters());
  ThreadPool pool(1);
  model->Refresh(pool);
  const PackedBatch batch = SequenceBatch(RandomTokens(config, 6, 33));
  const std::vector<float> expected = Hidden(*RandomModel(WithoutAdapters(config), kSeed), batch);
  EXPECT_EQ(Hidden(*model, batch), expected);
  double squares = 0;
  const ParameterSpec& a = model->layout().specs[0];
  for (int64_t i = 0; i < a.size; ++i) squares += std::pow(model->parameters()[a.offset + i], 2);
  EXPECT_NEAR(squares / static_cast<double>(a.size), 1.0 / (3 * 24), 0.6 / (3 * 24));  // PEFT: uniform to 1 / sqrt(in)
}

TEST(LoraDecoderTest, IsTheMergedModel) {
  const DecoderConfig config = LoraTestConfig();
  const std::unique_ptr<Model> model = RandomModel(config, kSeed);
  const std::unique_ptr<Model> merged = ModelOf(WithoutAdapters(config), Merged(*model));
  const PackedBatch batch = SequenceBatch(RandomTokens(config, 6, 33));
  const std::vector<float> hidden = Hidden(*model, batch), expected = Hidden(*merged, batch);
  const std::vector<float> base = Hidden(*RandomModel(WithoutAdapters(config), kSeed), batch);
  double most = 0, moved = 0;
  for (size_t i = 0; i < hidden.size(); ++i) {
    most = std::max(most, static_cast<double>(std::fabs(hidden[i] - expected[i])));
    moved = std::max(moved, static_cast<double>(std::fabs(hidden[i] - base[i])));
  }
  EXPECT_LT(most, 5e-5);
  EXPECT_GT(moved, 0.1);  // the adapters matter
}

// dA = scale * B^T dW and dB = scale * dW A^T, with dW from the whole backward pass of the merged model.
TEST(LoraDecoderTest, GradientsAreProjectionsOfTheMergedModelsGradient) {
  const DecoderConfig config = LoraTestConfig();
  const std::unique_ptr<Model> model = RandomModel(config, kSeed);
  const std::unique_ptr<Model> merged = ModelOf(WithoutAdapters(config), Merged(*model));
  const Problem problem(config);
  const std::vector<float> gradient = Gradient(problem, *model), full = Gradient(problem, *merged);
  const double scale = config.lora.scale();
  const int64_t rank = config.lora.r;
  for (const AdapterOf& of : AdaptersOf(model->layout(), merged->layout())) {
    const float *const a = model->parameters().data() + of.a.offset,
                       *const b = model->parameters().data() + of.b.offset, *const da = gradient.data() + of.a.offset,
                       *const db = gradient.data() + of.b.offset, *const dw = full.data() + of.w.offset;
    const int64_t out = of.w.shape[0], in = of.w.shape[1];
    double largest = 0;
    for (int64_t i = 0; i < rank * in; ++i) largest = std::max(largest, std::fabs(static_cast<double>(da[i])));
    EXPECT_GT(largest, 0) << of.w.name;
    for (int64_t i = 0; i < rank; ++i) {
      for (int64_t k = 0; k < in; ++k) {
        double sum = 0;
        for (int64_t j = 0; j < out; ++j) sum += static_cast<double>(dw[j * in + k]) * b[j * rank + i];
        ASSERT_NEAR(da[i * in + k], scale * sum, 1e-4 * std::max(1.0, largest)) << of.a.name;
      }
      for (int64_t j = 0; j < out; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < in; ++k) sum += static_cast<double>(dw[j * in + k]) * a[i * in + k];
        ASSERT_NEAR(db[j * rank + i], scale * sum, 1e-4 * std::max(1.0, largest)) << of.b.name;
      }
    }
  }
}

// Adds the adapters to a reference's products, in double, with the masks that the rows' seeds give.
testing::ReferenceAddition AddingAdapters(const Model& model, const DecoderLayout& base,
                                          const std::vector<double>& parameters, const std::vector<uint64_t>& seed_T) {
  std::map<int, AdapterOf> of_spec;
  for (const AdapterOf& of : AdaptersOf(model.layout(), base)) {
    of_spec.emplace(static_cast<int>(&of.w - base.specs.data()), of);
  }
  return [=, &model, &parameters](int spec, int64_t position, const std::vector<double>& x, std::vector<double>* y) {
    const auto found = of_spec.find(spec);
    if (found == of_spec.end()) return;
    const ParameterSpec &a = found->second.a, &b = found->second.b;
    std::vector<float> mask(x.size(), 1.0f);
    const kernels::Rows mask_row = {mask.data(), 1, static_cast<int64_t>(x.size())};
    const Dropout dropout =
        Dropout::Of(model.config().lora.dropout, static_cast<uint64_t>(&a - model.layout().specs.data()));
    if (!seed_T.empty()) ApplyDropout(dropout, {&seed_T[position]}, mask_row, mask_row);
    for (int64_t i = 0; i < model.config().lora.r; ++i) {
      double u = 0;
      for (size_t k = 0; k < x.size(); ++k) {
        u += parameters[static_cast<size_t>(a.offset + i * a.shape[1]) + k] * mask[k] * x[k];
      }
      for (size_t j = 0; j < y->size(); ++j) {
        (*y)[j] += 1.5 * u * parameters[static_cast<size_t>(b.offset + i) + j * static_cast<size_t>(b.shape[1])];
      }
    }
  };
}

// Compares the gradient with central differences of the reference: of each tensor, the element in the middle and that
// of the largest gradient.
void ExpectCentralDifferences(const DecoderConfig& config, const std::vector<uint64_t>& seed_T) {
  const std::unique_ptr<Model> model = RandomModel(config, kSeed);
  Problem problem(config);
  problem.dropout_T = seed_T;
  const std::vector<float> gradient = Gradient(problem, *model), base_floats = RandomBase(config, kSeed);
  EXPECT_EQ(gradient, Gradient(problem, *model, nullptr, /*recompute=*/true));
  const DecoderLayout base = MakeBaseLayout(config);
  const std::vector<double> weights(base_floats.begin(), base_floats.end());
  std::vector<double> adapters(model->parameters().begin(), model->parameters().end());
  const testing::ReferenceAddition add = AddingAdapters(*model, base, adapters, seed_T);
  const auto loss = [&] {
    const auto out =
        testing::ReferenceForward(WithoutAdapters(config), base, weights, problem.tokens, kTemperature, add);
    double sum = 0;
    for (size_t t = 0; t < problem.weight_T.size(); ++t) {
      const size_t target = static_cast<size_t>(problem.tokens[t + 1]);
      sum += problem.weight_T[t] * out.logprob_TV[t * static_cast<size_t>(config.vocab_size) + target];
    }
    return sum;
  };
  for (const ParameterSpec& spec : model->layout().specs) {
    const auto smaller = [](float a, float b) { return std::fabs(a) < std::fabs(b); };
    const auto largest =
        std::max_element(gradient.begin() + spec.offset, gradient.begin() + spec.offset + spec.size, smaller);
    for (const int64_t at : {spec.offset + spec.size / 2, static_cast<int64_t>(largest - gradient.begin())}) {
      double& parameter = adapters[at];
      const double value = parameter, h = 1e-5;
      parameter = value + h;
      const double above = loss();
      parameter = value - h;
      const double below = loss();
      parameter = value;
      EXPECT_NEAR(gradient[at], (above - below) / (2 * h), 1e-4) << spec.name;
    }
  }
}

TEST(LoraDecoderTest, GradientsAgreeWithCentralDifferencesInDouble) { ExpectCentralDifferences(LoraTestConfig(), {}); }

// Also where a token's rows are at other places among those of an expert.
TEST(LoraDecoderTest, GradientsWithDropoutAgreeWithCentralDifferences) {
  for (const int64_t experts : {5, 2}) {
    DecoderConfig config = LoraTestConfig();
    config.num_experts_per_tok = experts;
    config.lora.dropout = 0.25;
    std::vector<uint64_t> seed_T;
    for (size_t t = 0; t < Problem(config).tokens.size(); ++t) {
      seed_T.push_back(DropoutSeedOf({.seed = 1, .step = 3, .sample = 2}, static_cast<int64_t>(t)));
    }
    ExpectCentralDifferences(config, seed_T);
  }
}

class Heard : public GradientSink {
 public:
  void Finished(int spec, const ShardGradient&) override { ++times_[spec]; }
  std::map<int, int> times_;
};

TEST(LoraDecoderTest, ReportsEveryAdapterToTheSinkOnceAndRecomputesTheSameBits) {
  DecoderConfig config = LoraTestConfig();
  config.num_experts_per_tok = 2;
  config.tie_word_embeddings = true;
  const std::unique_ptr<Model> model = RandomModel(config, kSeed);
  Heard heard;
  const std::vector<float> gradient = Gradient(Problem(config), *model, &heard);
  EXPECT_EQ(heard.times_.size(), model->layout().specs.size());
  for (const auto& [spec, times] : heard.times_) EXPECT_EQ(times, 1) << spec;
  EXPECT_EQ(gradient, Gradient(Problem(config), *model, nullptr, /*recompute=*/true));
}

// With dropout, whose seeds are those of the sequence's positions.
TEST(LoraDecoderTest, PrefillAndDecodeGiveTheBitsOfForward) {
  DecoderConfig config = LoraTestConfig();
  config.num_experts_per_tok = 2;
  config.lora.dropout = 0.25;
  const std::unique_ptr<Model> model = RandomModel(config, kSeed);
  PackedBatch whole = SequenceBatch(RandomTokens(config, 6, 29));
  const std::vector<float> undropped = Hidden(*model, whole);
  for (int64_t t = 0; t < whole.rows(); ++t) whole.dropout_T.push_back(DropoutSeedOf({.seed = 1, .step = 3}, t));
  const std::vector<float> expected = Hidden(*model, whole);
  EXPECT_NE(undropped, expected);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    KeyValueCache cache(config, 29);
    Activations workspace(config, false);
    size_t done = 0;
    for (const size_t rows : {9, 1, 1, 18}) {
      CachedBatch batch;
      batch.runs.push_back({0, static_cast<int64_t>(rows), &cache});
      for (size_t t = done; t < done + rows; ++t) {
        batch.rows.token_T.push_back(whole.token_T[t]);
        batch.rows.position_T.push_back(whole.position_T[t]);
        batch.rows.dropout_T.push_back(whole.dropout_T[t]);
      }
      ForwardCached(model->decoder(), batch, &workspace, nullptr, Team(pool));
      for (size_t i = 0; i < rows * 24; ++i) {
        ASSERT_EQ(workspace.hidden_TD().data[i], expected[done * 24 + i]) << threads << " " << done << " " << i;
      }
      done += rows;
    }
  }
}

TEST(LoraModelTest, AReferenceSharesTheFrozenModelAndKeepsItsAdapters) {
  const DecoderConfig config = LoraTestConfig();
  const std::unique_ptr<Model> model = RandomModel(config, kSeed);
  const PackedBatch batch = SequenceBatch(RandomTokens(config, 6, 20));
  const std::vector<float> before = Hidden(*model, batch);
  const std::unique_ptr<Model> reference = Model::Create(config, /*training=*/false);
  std::copy(model->parameters().begin(), model->parameters().end(), reference->mutable_parameters().begin());
  ASSERT_TRUE(reference->ShareIfEqual(*model));
  EXPECT_TRUE(reference->SharesWith(*model));
  EXPECT_EQ(Hidden(*reference, batch), before);
  ThreadPool pool(2);
  int64_t changed = 0;
  std::mutex mutex;
  model->Refresh(pool, [&](int64_t first, int64_t size) {
    for (int64_t i = first; i < first + size; ++i) model->mutable_parameters()[i] *= 1.5f;
    const std::lock_guard<std::mutex> lock(mutex);
    changed += size;
  });
  EXPECT_EQ(changed, model->layout().total);
  EXPECT_FALSE(reference->SharesWith(*model));
  EXPECT_EQ(Hidden(*reference, batch), before);
  EXPECT_NE(Hidden(*model, batch), before);
  EXPECT_TRUE(reference->decoder().weights.SharesWith(model->decoder().weights));  // the frozen model
  EXPECT_FALSE(reference->ShareIfEqual(*model));
}

TEST(LoraModelTest, Bf16RoundsTheFrozenModelAlone) {
  DecoderConfig config = LoraTestConfig();
  config.bf16_weights = true;
  const std::unique_ptr<Model> model = RandomModel(config, kSeed);
  DecoderConfig plain = WithoutAdapters(config);
  const PackedBatch batch = SequenceBatch(RandomTokens(config, 6, 20));
  const std::vector<float> with_adapters = Hidden(*model, batch);
  InitializeParameters(config, model->layout(), 4, model->mutable_parameters());
  ThreadPool pool(1);
  model->Refresh(pool);
  EXPECT_EQ(Hidden(*model, batch), Hidden(*RandomModel(plain, kSeed), batch));
  EXPECT_NE(with_adapters, Hidden(*model, batch));
}

// Flips a bit of a number that kernels read, and expects that FindCorruption names the tensor `name`; undoes it.
void ExpectFound(const Model& model, const PackedBatch& batch, const void* number, const std::string& name) {
  unsigned char* const byte = static_cast<unsigned char*>(const_cast<void*>(number));
  *byte ^= 4;  // a bit of low order: the number stays plausible
  EXPECT_EQ(FindCorruption(model, batch), name + ", whose packed copy for the kernels differs");
  *byte ^= 4;
}

TEST(LoraModelTest, FindsAFlippedBitOfFrozenWeightsAndOfTheCopiesOfAdapters) {
  for (const bool bf16 : {false, true}) {
    DecoderConfig config = LoraTestConfig();
    config.bf16_weights = bf16;
    const std::unique_ptr<Model> model = RandomModel(config, kSeed);
    const PackedBatch batch = SequenceBatch(RandomTokens(config, 6, 20));
    const PackedWeights& weights = model->decoder().weights;
    const LayerWeights& layer = weights.layers()[1];
    const auto memory = [](const kernels::PackedMatrix& matrix) {
      return matrix.floats() != nullptr ? static_cast<const void*>(matrix.floats()) : matrix.pairs();
    };
    EXPECT_EQ(FindCorruption(*model, batch), "");
    const std::string of_layer = "model.layers.1.", q = "base_model.model.model.layers.1.self_attn.q_proj.lora_",
                      down = "base_model.model.model.layers.1.mlp.experts.3.down_proj.lora_";
    ExpectFound(*model, batch, memory(layer.o), of_layer + "self_attn.o_proj.weight");
    ExpectFound(*model, batch, memory(layer.o_transposed), of_layer + "self_attn.o_proj.weight");
    ExpectFound(*model, batch, memory(layer.router), of_layer + "mlp.gate.weight");
    ExpectFound(*model, batch, layer.k_norm + 3, of_layer + "self_attn.k_norm.weight");
    ExpectFound(*model, batch, weights.final_norm(), "model.norm.weight");
    ExpectFound(*model, batch, &weights.embedding_bytes().front(), "model.embed_tokens.weight");
    ExpectFound(*model, batch, &weights.embedding_bytes().back(), "model.embed_tokens.weight");
    ExpectFound(*model, batch, layer.adapters.q.a.floats() + 5, q + "A.weight");
    ExpectFound(*model, batch, layer.adapters.q.a_transposed.floats(), q + "A.weight");
    ExpectFound(*model, batch, layer.adapters.q.b.floats(), q + "B.weight");
    ExpectFound(*model, batch, layer.adapters.down_E[3].b_transposed.floats() + 1, down + "B.weight");
    EXPECT_EQ(FindCorruption(*model, batch), "");
  }
}

TEST(LoraConfigTest, BadValuesAreRefused) {
  const auto message = [](const LoraConfig& lora, ValueModel value = ValueModel::kNone) {
    DecoderConfig config = testing::SmallConfig();
    config.lora = lora;
    config.value_model = value;
    return std::string(ValidateDecoderConfig(config).message());
  };
  EXPECT_EQ(message({.r = 4}), "");
  EXPECT_EQ(message({.r = 4}, ValueModel::kHead), "");
  EXPECT_EQ(message({.r = 5000}), "lora.r is 5000; expected 1 to 4096");
  EXPECT_EQ(message({.r = 13}),
            "lora.r is 13, but the matrices of k_proj have only rank 12: set lora.r to at most 12, or leave the module "
            "out of lora.target_modules");
  EXPECT_EQ(message({.r = 13, .targets = {true, false, false, true}}), "");
  EXPECT_EQ(message({.r = 4, .alpha = std::nan("")}), "lora.alpha is nan; expected 1e-06 to 1e+06");
  EXPECT_EQ(message({.r = -1}), "lora.r is -1; expected at least 0");
  EXPECT_EQ(message({.r = 4, .dropout = 1}), "lora.dropout is 1; expected 0 to 0.99");
  EXPECT_EQ(message({.r = 4, .targets = {}}), "lora has no target modules");
  EXPECT_THAT(message({.r = 4}, ValueModel::kNetwork), ::testing::HasSubstr("use a value head"));
}

}  // namespace
}  // namespace reprise::models
