#include "models/decoder/config.h"

#include <functional>
#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;

void ExpectRefused(const std::function<void(DecoderConfig&)>& change, const std::string& sentence) {
  DecoderConfig config;
  change(config);
  EXPECT_THAT(ValidateDecoderConfig(config), StatusIs(absl::StatusCode::kInvalidArgument, sentence));
}

TEST(DecoderConfigTest, TheDefaultsAreValid) {
  EXPECT_OK(ValidateDecoderConfig({}));
  EXPECT_EQ(DecoderConfig().head_width(), 16);
  EXPECT_EQ(DecoderConfig().key_value_width(), 64);
}

TEST(DecoderConfigTest, EverySizeHasARange) {
  ExpectRefused([](auto& c) { c.vocab_size = 1; }, "vocab_size is 1; expected 2 to 16777216");
  ExpectRefused([](auto& c) { c.hidden_size = 0; }, "hidden_size is 0; expected 1 to 16777216");
  ExpectRefused([](auto& c) { c.intermediate_size = -1; }, "intermediate_size is -1; expected 1 to 16777216");
  ExpectRefused([](auto& c) { c.num_hidden_layers = 1025; }, "num_hidden_layers is 1025; expected 1 to 1024");
  ExpectRefused([](auto& c) { c.num_attention_heads = 0; }, "num_attention_heads is 0; expected 1 to 4096");
  ExpectRefused([](auto& c) { c.num_key_value_heads = 5; },
                "num_attention_heads 4 is not a multiple of num_key_value_heads 5: each key-value head serves the same "
                "number of attention heads; change one of the two");
  ExpectRefused([](auto& c) { c.num_key_value_heads = 0; }, "num_key_value_heads is 0; expected 1 to 4096");
  ExpectRefused([](auto& c) { c.num_experts = 0; }, "num_experts is 0; expected 1 to 4096");
  ExpectRefused([](auto& c) { c.num_experts_per_tok = 0; }, "num_experts_per_tok is 0; expected 1 to 4096");
  ExpectRefused([](auto& c) { c.num_experts_per_tok = 9; },
                "num_experts 8 is less than num_experts_per_tok 9: more experts, or fewer of them for a token");
  ExpectRefused([](auto& c) { c.max_position_embeddings = 0; }, "max_position_embeddings is 0; expected 1 to 16777216");
}

TEST(DecoderConfigTest, TheSizesThatDisagreeAreBothNamed) {
  ExpectRefused([](auto& c) { c.num_attention_heads = 2; },
                "num_attention_heads 2 is not a multiple of num_key_value_heads 4: each key-value head serves the same "
                "number of attention heads; change one of the two");
  ExpectRefused([](auto& c) { c.num_attention_heads = 3; },
                "hidden_size 64 is not a multiple of num_attention_heads 3");
  ExpectRefused([](auto& c) { c.num_experts = 1; },
                "num_experts 1 is less than num_experts_per_tok 2: more experts, or fewer of them for a token");
}

TEST(DecoderConfigTest, SizesAreConsistent) {
  ExpectRefused([](auto& c) { c.hidden_size = 66; }, "hidden_size 66 is not a multiple of num_attention_heads 4");
  ExpectRefused([](auto& c) { c.num_key_value_heads = 3; },
                "num_attention_heads 4 is not a multiple of num_key_value_heads 3: each key-value head serves the same "
                "number of attention heads; change one of the two");
  ExpectRefused([](auto& c) { c.hidden_size = 12; },
                "the head width 3 (hidden_size / num_attention_heads) is odd; rotary positions need pairs");
}

TEST(DecoderConfigTest, NumbersAreFiniteAndOfTheRightSign) {
  ExpectRefused([](auto& c) { c.rope_theta = 1e-12; }, "rope_theta is 1e-12; expected 1 to 1e+30");
  ExpectRefused([](auto& c) { c.rope_theta = __builtin_nan(""); }, "rope_theta is nan; expected 1 to 1e+30");
  ExpectRefused([](auto& c) { c.rms_norm_eps = 1e-46; }, "rms_norm_eps is 1e-46; expected 1e-30 to 1");
  ExpectRefused([](auto& c) { c.clip_qkv = -1; }, "clip_qkv is -1; expected 1e-30 to 1e+30");
  ExpectRefused([](auto& c) { c.clip_qkv = __builtin_inf(); }, "clip_qkv is inf; expected 1e-30 to 1e+30");
  ExpectRefused([](auto& c) { c.router_aux_loss_coef = -0.1; }, "router_aux_loss_coef must not be negative");
  ExpectRefused([](auto& c) { c.initializer_range = -0.1; }, "initializer_range must lie between 0 and 1000");
}

TEST(DecoderConfigTest, TokensLieWithinTheVocabulary) {
  ExpectRefused([](auto& c) { c.pad_token_id = 128; }, "pad_token_id is 128; expected -1 to 127");
  ExpectRefused([](auto& c) { c.bos_token_id = -2; }, "bos_token_id is -2; expected -1 to 127");
  ExpectRefused([](auto& c) { c.eos_token_id = {3, -1}; }, "eos_token_id is -1; expected 0 to 127");
}

TEST(DecoderConfigTest, AModelTooLargeForAnyMachineIsRefused) {
  ExpectRefused(
      [](auto& c) {
        c.hidden_size = c.intermediate_size = c.vocab_size = 1 << 24;
        c.num_experts = 4096;
        c.num_hidden_layers = 1024;
      },
      "the model has more than 2^40 parameters");
}

TEST(DecoderConfigTest, AModelOfMillionsOfSmallMatricesIsRefusedBeforeTheirNamesAreMade) {
  const std::string too_many = "num_hidden_layers times num_experts makes more than 2^20 expert matrices";
  const auto set = [](auto& c, int64_t layers, int64_t experts) {
    c.num_hidden_layers = layers;
    c.num_experts = experts;
  };
  ExpectRefused([&](auto& c) { set(c, 1024, 4096); }, too_many);
  ExpectRefused([&](auto& c) { set(c, 86, 4096); }, too_many);
  DecoderConfig large;
  set(large, 85, 4096);
  EXPECT_OK(ValidateDecoderConfig(large));
}

}  // namespace
}  // namespace reprise::models
