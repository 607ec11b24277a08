#include "models/decoder/corruption.h"

#include <limits>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"

namespace reprise::models {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class DamageTest : public ::testing::Test {
 protected:
  explicit DamageTest(DecoderConfig config = testing::SmallConfig())
      : model(testing::RandomModel(config, 3)),
        batch(testing::SequenceBatch(testing::RandomTokens(config, 5, 11))),
        pool(1) {}

  // Writes the value to an element of the tensor as the kernels read it; also to the parameter if `for_good`.
  void Spoil(int spec, int64_t element, float value, bool for_good = false) {
    float& parameter = model->mutable_parameters()[model->layout().specs[spec].offset + element];
    const float healthy = std::exchange(parameter, value);
    model->Refresh(pool);
    if (!for_good) parameter = healthy;
  }

  std::unique_ptr<Model> model;
  PackedBatch batch;
  ThreadPool pool;
};

TEST_F(DamageTest, AHealthyModelHasNone) { EXPECT_EQ(FindCorruption(*model, batch), ""); }

TEST_F(DamageTest, AParameterIsNamedWithItsElementBeforeItsEffects) {
  Spoil(model->layout().layers[1].v, 7, kNan, true);
  EXPECT_EQ(FindCorruption(*model, batch), "model.layers.1.self_attn.v_proj.weight (element 7 is nan)");
  Spoil(model->layout().layers[0].q_norm, 2, 1e-40f, true);
  EXPECT_THAT(FindCorruption(*model, batch),
              StartsWith("model.layers.0.self_attn.q_norm.weight (element 2 is 9.99995e-41"));
}

TEST_F(DamageTest, TheFirstActivationIsNamedWithTheCopyThatCausedIt) {
  Spoil(model->layout().layers[1].router, 30, kNan);
  EXPECT_EQ(FindCorruption(*model, batch),
            "router_logits of layer 1 (nan at row 0, column 1); the kernels' packed copy of "
            "model.layers.1.mlp.gate.weight differs");
  Spoil(model->layout().lm_head, 24 * 36, 1e30f);
  EXPECT_THAT(FindCorruption(*model, batch),
              AllOf(StartsWith("logits ("), HasSubstr("column 36); the kernels' packed copy of lm_head.weight")));
  Spoil(model->layout().layers[0].down_E[2], 0, kNan);
  EXPECT_THAT(FindCorruption(*model, batch), StartsWith("the experts' output of layer 0 (nan"));
}

// If every number is plausible, none shows that a bit has flipped; the packed copy does. If three matrices are packed
// as one, the right one is named.
TEST_F(DamageTest, ACorruptCopyWithPlausibleNumbersIsNamed) {
  for (const int spec : {model->layout().layers[0].q, model->layout().layers[1].k, model->layout().layers[1].v,
                         model->layout().layers[0].up_E[3], model->layout().lm_head}) {
    Spoil(spec, 25, 0.25f);
    EXPECT_EQ(FindCorruption(*model, batch),
              model->layout().specs[spec].name + ", whose packed copy for the kernels differs");
  }
}

class Bf16DamageTest : public DamageTest {
 protected:
  static DecoderConfig WithBf16() {
    DecoderConfig config = testing::SmallConfig();
    config.bf16_weights = true;
    return config;
  }
  Bf16DamageTest() : DamageTest(WithBf16()) {}
};

TEST_F(Bf16DamageTest, CopiesInBf16AreNamedInBothHalves) {
  EXPECT_EQ(FindCorruption(*model, batch), "");
  // Rows 24, 32 and 35 of the stacked matrix are in the upper and in the lower half of pairs.
  for (const int64_t row : {0, 8, 11}) {
    Spoil(model->layout().layers[1].k, 24 * row, 0.25f);
    EXPECT_THAT(FindCorruption(*model, batch), StartsWith("model.layers.1.self_attn.k_proj.weight, whose")) << row;
  }
  Spoil(model->layout().embedding, 40, 0.25f);
  EXPECT_THAT(FindCorruption(*model, batch), StartsWith("model.embed_tokens.weight, whose packed"));
}

class NetworkDamageTest : public DamageTest {
 protected:
  static DecoderConfig WithNetwork() {
    DecoderConfig config = testing::SmallConfig();
    config.value_model = ValueModel::kNetwork;
    return config;
  }
  NetworkDamageTest() : DamageTest(WithNetwork()) {}
};

TEST_F(NetworkDamageTest, ACopyOfTheValueNetworkIsNamed) {
  const DecoderLayout& layout = model->layout();
  for (int spec = layout.value.embedding; spec < static_cast<int>(layout.specs.size()); ++spec) {
    if (layout.specs[spec].name != "value_model.model.layers.0.self_attn.o_proj.weight") continue;
    Spoil(spec, 3, 0.25f);
    EXPECT_THAT(FindCorruption(*model, batch),
                StartsWith("value_model.model.layers.0.self_attn.o_proj.weight, whose packed"));
    return;
  }
  FAIL() << "no such tensor";
}

}  // namespace
}  // namespace reprise::models
