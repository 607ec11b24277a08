#include "models/decoder/parameters.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/olmoe/model_directory.h"
#include "models/olmoe/weights.h"
#include "models/safetensors/reader.h"

namespace reprise::models {
namespace {

using reprise::testing::GoldenModels;
using reprise::testing::GoldensDirectory;

TEST(DecoderLayoutTest, NamesAndShapesAreThoseOfTheGoldenModels) {
  ASSERT_FALSE(GoldenModels().empty());
  for (const std::string& model : GoldenModels()) {
    const std::string directory = GoldensDirectory() + "/models/" + model;
    ASSERT_OK_AND_ASSIGN(const DecoderConfig config, ReadModelConfig(directory));
    std::map<std::string, Shape> expected, actual;
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> files, WeightFiles(directory));
    for (const std::string& path : files) {
      ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(path));
      for (const TensorView& tensor : file.tensors()) expected[tensor.name] = tensor.shape;
    }
    for (const ParameterSpec& spec : MakeDecoderLayout(config).specs) actual[spec.name] = spec.shape;
    EXPECT_EQ(actual, expected) << model;
  }
}

TEST(DecoderLayoutTest, TensorsFollowEachOtherAtMultiplesOf64Bytes) {
  DecoderConfig config;
  config.vocab_size = 5;  // 5 x 6 floats do not fill two cache lines
  config.hidden_size = 6;
  config.num_attention_heads = config.num_key_value_heads = 3;
  const DecoderLayout layout = MakeDecoderLayout(config);
  int64_t end = 0;
  for (const ParameterSpec& spec : layout.specs) {
    EXPECT_EQ(spec.offset, (end + 15) / 16 * 16) << spec.name;
    EXPECT_EQ(spec.size, NumElements(spec.shape));
    end = spec.offset + spec.size;
  }
  EXPECT_EQ(layout.total, (end + 15) / 16 * 16);
  EXPECT_EQ(layout.specs[1].offset, 32);
}

TEST(DecoderLayoutTest, TheOrderIsThatOfTheNetwork) {
  const DecoderLayout layout = MakeDecoderLayout({});
  EXPECT_EQ(layout.specs.size(), 69u);
  EXPECT_EQ(layout.embedding, 0);
  EXPECT_EQ(layout.lm_head, 68);
  EXPECT_EQ(layout.final_norm, 67);
  const LayerParameters& layer = layout.layers[1];
  EXPECT_EQ(layout.specs[layer.k_norm].name, "model.layers.1.self_attn.k_norm.weight");
  EXPECT_EQ(layout.specs[layer.up_E[3]].name, "model.layers.1.mlp.experts.3.up_proj.weight");
  EXPECT_EQ(layout.specs[layer.down_E[7]].name, "model.layers.1.mlp.experts.7.down_proj.weight");
  EXPECT_EQ(layout.specs[layer.router].name, "model.layers.1.mlp.gate.weight");
}

TEST(DecoderLayoutTest, ATiedHeadIsTheEmbedding) {
  DecoderConfig config;
  config.tie_word_embeddings = true;
  const DecoderLayout layout = MakeDecoderLayout(config);
  EXPECT_EQ(layout.lm_head, layout.embedding);
  EXPECT_EQ(layout.specs.size(), 68u);
}

TEST(DecoderLayoutTest, ATrunkIsTheLanguageModelWithoutItsHead) {
  const DecoderLayout model = MakeDecoderLayout({}), trunk = TrunkLayout({});
  ASSERT_EQ(trunk.specs.size(), model.specs.size() - 1);
  for (size_t i = 0; i < trunk.specs.size(); ++i) {
    EXPECT_EQ(trunk.specs[i].name, model.specs[i].name);
    EXPECT_EQ(trunk.specs[i].offset, model.specs[i].offset);
  }
  EXPECT_EQ(trunk.lm_head, -1);
  EXPECT_EQ(trunk.total, model.specs.back().offset);
  EXPECT_EQ(trunk.policy_total, trunk.total);
}

// What optimizers and ownership read of a layout; norms are summed by what is cut by rows.
TEST(DecoderLayoutTest, EmbeddingsAndTheLmHeadAreCutByRowsAndNothingElse) {
  for (const bool tied : {false, true}) {
    for (const ValueModel value_model : {ValueModel::kNone, ValueModel::kHead, ValueModel::kNetwork}) {
      DecoderConfig config;
      config.tie_word_embeddings = tied;
      config.value_model = value_model;
      const DecoderLayout layout = MakeDecoderLayout(config);
      for (int i = 0; i < static_cast<int>(layout.specs.size()); ++i) {
        const ParameterSpec& spec = layout.specs[i];
        const bool is_embedding = i == layout.embedding || i == layout.value.embedding;
        EXPECT_EQ(spec.by_rows, is_embedding || i == layout.lm_head) << spec.name;
        const ParameterKind kind = is_embedding                                      ? ParameterKind::kEmbedding
                                   : i == layout.lm_head || i == layout.value.weight ? ParameterKind::kHead
                                   : spec.shape.size() == 1                          ? ParameterKind::kVector
                                                                                     : ParameterKind::kMatrix;
        EXPECT_EQ(spec.kind, kind) << spec.name;
      }
    }
  }
}

class InitialWeightsTest : public ::testing::Test {
 protected:
  InitialWeightsTest() : layout_(MakeDecoderLayout(config_)), flat_(layout_.total, -1.0f) {
    InitializeParameters(config_, layout_, /*seed=*/1, absl::MakeSpan(flat_));
  }
  absl::Span<const float> Of(int index) const {
    return absl::MakeConstSpan(flat_).subspan(layout_.specs[index].offset, layout_.specs[index].size);
  }

  const DecoderConfig config_;
  const DecoderLayout layout_;
  std::vector<float> flat_;
};

TEST_F(InitialWeightsTest, MatricesAreNormalWithTheConfiguredDeviation) {
  double sum = 0, squares = 0, fourth = 0, count = 0;
  for (size_t i = 1; i < layout_.specs.size(); ++i) {
    if (layout_.specs[i].shape.size() != 2) continue;
    for (const float w : Of(i)) {
      const double z = w / config_.initializer_range;
      sum += z, squares += z * z, fourth += z * z * z * z, count += 1;
    }
  }
  // Five standard errors: 1, sqrt(2) and sqrt(96) over sqrt(count).
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count));
  EXPECT_NEAR(fourth / count, 3, 5 * std::sqrt(96 / count));
}

TEST_F(InitialWeightsTest, NormsAreOneAndThePaddingTokensEmbeddingZero) {
  for (size_t i = 0; i < layout_.specs.size(); ++i) {
    if (layout_.specs[i].shape.size() != 1) continue;
    for (const float w : Of(i)) ASSERT_EQ(w, 1.0f) << layout_.specs[i].name;
  }
  const absl::Span<const float> embedding = Of(layout_.embedding);
  for (int64_t d = 0; d < config_.hidden_size; ++d) EXPECT_EQ(embedding[d], 0.0f);
  EXPECT_NE(embedding[config_.hidden_size], 0.0f);
}

// Part of the numeric contract: these values may change only with its version.
TEST_F(InitialWeightsTest, TheFirstValuesArePinned) {
  const absl::Span<const float> embedding = Of(layout_.embedding), head = Of(layout_.lm_head);
  const absl::Span<const float> router = Of(layout_.layers[1].router);
  EXPECT_EQ(embedding[64], 0x1.87793cp-6f);
  EXPECT_EQ(embedding[65], -0x1.32ae6ep-8f);
  EXPECT_EQ(router[0], -0x1.ffdcf2p-7f);
  EXPECT_EQ(head[8191], 0x1.9ce76ep-9f);
}

TEST_F(InitialWeightsTest, AreAFunctionOfTheSeed) {
  std::vector<float> again(layout_.total), other(layout_.total);
  InitializeParameters(config_, layout_, 1, absl::MakeSpan(again));
  InitializeParameters(config_, layout_, 2, absl::MakeSpan(other));
  EXPECT_EQ(again, flat_);
  EXPECT_NE(other, flat_);
}

}  // namespace
}  // namespace reprise::models
