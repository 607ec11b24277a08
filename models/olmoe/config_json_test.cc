#include "models/olmoe/config_json.h"

#include <map>
#include <string>

#include "core/io/read_file.h"
#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace reprise::models {
namespace {

using reprise::testing::GoldenModels;
using reprise::testing::GoldensDirectory;
using reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

std::string GoldenFile(const std::string& model, const std::string& file) {
  return *ReadFile(PosixFileSystem(), GoldensDirectory() + "/models/" + model + "/" + file, 1 << 20);
}

// Returns the public OLMoE-1B-7B's keys in the spelling of Transformers 4.
Json Old() {
  return Json::parse(R"({
    "architectures": ["OlmoeForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "clip_qkv": null,
    "eos_token_id": 50279, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
    "intermediate_size": 1024, "max_position_embeddings": 4096, "model_type": "olmoe", "norm_topk_prob": false,
    "num_attention_heads": 16, "num_experts": 64, "num_experts_per_tok": 8, "num_hidden_layers": 16,
    "output_router_logits": false, "pad_token_id": 1, "rms_norm_eps": 1e-05, "rope_scaling": null,
    "rope_theta": 500000.0, "router_aux_loss_coef": 0.01, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "transformers_version": "4.43.0.dev0", "use_cache": true, "vocab_size": 50304})");
}

absl::StatusOr<DecoderConfig> Parse(const Json& json) { return ParseOlmoeConfig(json.dump()); }

// Returns the result of parsing after `key` (a JSON pointer) is set to `value`.
absl::StatusOr<DecoderConfig> With(const std::string& key, Json value) {
  Json json = Old();
  json[Json::json_pointer(key)] = std::move(value);
  return Parse(json);
}

TEST(OlmoeConfigTest, ReadsEveryGoldenModelAndWritesTheSameKeysAndThoseOfTransformers4) {
  for (const std::string& model : GoldenModels()) {
    const std::string text = GoldenFile(model, "config.json");
    ASSERT_OK_AND_ASSIGN(const DecoderConfig config, ParseOlmoeConfig(text));
    Json expected = Json::parse(text);
    expected.erase("transformers_version");
    expected["rope_scaling"] = nullptr;
    expected["rope_theta"] = expected["rope_parameters"]["rope_theta"];
    EXPECT_EQ(OlmoeConfigJson(config), expected.dump(2) + "\n");
    ASSERT_OK_AND_ASSIGN(const DecoderConfig again, ParseOlmoeConfig(OlmoeConfigJson(config)));
    EXPECT_EQ(again, config);
    Json generation = Json::parse(GoldenFile(model, "generation_config.json"));
    generation.erase("transformers_version");
    EXPECT_EQ(OlmoeGenerationConfigJson(config), generation.dump(2) + "\n");
  }
}

TEST(OlmoeConfigTest, ReadsTheSpellingOfTransformers4) {
  ASSERT_OK_AND_ASSIGN(const DecoderConfig config, Parse(Old()));
  EXPECT_EQ(config.rope_theta, 500000.0);
  EXPECT_EQ(config.num_key_value_heads, 16);
  EXPECT_EQ(config.bos_token_id, -1);
  EXPECT_EQ(config.pad_token_id, 1);
  EXPECT_THAT(config.eos_token_id, ElementsAre(50279));
  EXPECT_EQ(config.clip_qkv, std::nullopt);
}

TEST(OlmoeConfigTest, AbsentKeysTakeTheDefaultsOfTransformers) {
  const Json minimal = {{"model_type", "olmoe"},     {"vocab_size", 50304},    {"hidden_size", 2048},
                        {"intermediate_size", 1024}, {"num_experts", 64},      {"num_experts_per_tok", 8},
                        {"num_attention_heads", 16}, {"num_hidden_layers", 16}};
  Json expected = Old();
  expected.erase("rope_theta");
  EXPECT_EQ(*Parse(minimal), *Parse(expected));
  EXPECT_EQ(Parse(minimal)->rope_theta, 10000.0);
}

TEST(OlmoeConfigTest, EndOfTextIsANumberAListOrNull) {
  EXPECT_THAT(With("/eos_token_id", {7, 5})->eos_token_id, ElementsAre(7, 5));
  EXPECT_THAT(With("/eos_token_id", nullptr)->eos_token_id, IsEmpty());
  EXPECT_THAT(With("/eos_token_id", {7, "x"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "/eos_token_id/1: expected an integer, found a string"));
  EXPECT_EQ(With("/pad_token_id", nullptr)->pad_token_id, -1);
  EXPECT_EQ(With("/bos_token_id", 3)->bos_token_id, 3);
}

TEST(OlmoeConfigTest, EverySpellingSurvivesARoundTrip) {
  ASSERT_OK_AND_ASSIGN(DecoderConfig config, Parse(Old()));
  config.clip_qkv = 8.25;
  config.eos_token_id = {4, 5};
  config.pad_token_id = -1;
  config.bos_token_id = 9;
  config.num_key_value_heads = 4;
  config.tie_word_embeddings = config.norm_topk_prob = true;
  config.rope_theta = 123456.789;
  ASSERT_OK_AND_ASSIGN(const DecoderConfig again, ParseOlmoeConfig(OlmoeConfigJson(config)));
  EXPECT_EQ(again, config);
}

TEST(OlmoeConfigTest, RotaryPositionsMayBeSpelledOneWayOrBothButNotDifferently) {
  Json json = Old();
  json["rope_parameters"] = {{"rope_theta", 500000.0}, {"rope_type", "default"}};
  EXPECT_EQ(Parse(json)->rope_theta, 500000.0);
  json.erase("rope_theta");
  EXPECT_EQ(Parse(json)->rope_theta, 500000.0);
  json["rope_scaling"] = {{"rope_theta", 7000.0}, {"type", "default"}};
  EXPECT_THAT(Parse(json), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("/rope_parameters/rope_theta: it is 500000, but /rope_scaling/rope_theta "
                                              "is 7000")));
  json["rope_parameters"].erase("rope_theta");
  EXPECT_EQ(Parse(json)->rope_theta, 7000.0);
}

TEST(OlmoeConfigTest, AVocabularyWithoutTransformersDefaultEndTokenHasNone) {
  Json json = Old();
  json.erase("eos_token_id");
  EXPECT_THAT(Parse(json)->eos_token_id, ElementsAre(50279));
  json["vocab_size"] = 50279;
  EXPECT_THAT(Parse(json)->eos_token_id, IsEmpty());
}

TEST(OlmoeConfigTest, ANetworkThatWeCannotComputeIsUnimplemented) {
  const std::map<std::string, std::pair<Json, std::string>> cases = {
      {"/model_type", {"llama", R"(/model_type is "llama"; only "olmoe" is supported)"}},
      {"/hidden_act", {"gelu", R"(/hidden_act is "gelu"; only "silu" is supported)"}},
      {"/attention_bias", {true, "/attention_bias is true; only false is supported"}},
      {"/attention_dropout", {0.5, "/attention_dropout is 0.5; only 0 is supported"}},
      {"/rope_scaling", {{{"type", "linear"}}, R"(/rope_scaling/type is "linear"; only "default" is supported)"}},
      {"/rope_parameters",
       {{{"rope_type", "yarn"}}, R"(/rope_parameters/rope_type is "yarn"; only "default" is supported)"}},
      {"/partial_rotary_factor", {0.5, "/partial_rotary_factor is 0.5; only 1 is supported"}},
      {"/head_dim", {64, "/head_dim is 64; only 128, which is hidden_size / num_attention_heads, is supported"}},
  };
  for (const auto& [key, value] : cases) {
    EXPECT_THAT(With(key, value.first), StatusIs(absl::StatusCode::kUnimplemented, value.second));
  }
}

TEST(OlmoeConfigTest, QuantisedWeightsAreRefusedWithARemedy) {
  const auto refusal = [](const std::string& key, const Json& value, const std::string& sentence) {
    EXPECT_THAT(With(key, value), StatusIs(absl::StatusCode::kUnimplemented,
                                           ::testing::AllOf(::testing::StartsWith(key + sentence),
                                                            HasSubstr(".dequantize().save_pretrained(OTHER_DIR)"))));
  };
  refusal("/quantization_config", {{"quant_method", "gptq"}, {"bits", 4}},
          " says that the weights are quantised (gptq), and such are not read: take the model from which");
  refusal("/quantization_config", {{"load_in_4bit", true}}, " says that the weights are quantised, and");
  refusal("/compression_config", {{"format", "int-quantized"}}, " says that the weights are quantised, and");
  EXPECT_OK(With("/quantization_config", nullptr));
  EXPECT_OK(With("/quantization_config", Json::object()));
}

TEST(OlmoeConfigTest, AHeadDimThatFollowsFromTheOthersIsRead) { EXPECT_OK(With("/head_dim", 128)); }

TEST(OlmoeConfigTest, ArchitecturesAreOfTheModelsFamily) {
  EXPECT_OK(With("/architectures", {"OlmoeModel"}));
  EXPECT_OK(With("/architectures", nullptr));
  EXPECT_OK(With("/architectures", Json::array()));
  EXPECT_THAT(With("/architectures", {"OlmoeForCausalLM", "LlamaForCausalLM"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "/architectures/1: \"LlamaForCausalLM\" is not of the family that /model_type names, \"olmoe\"; "
                       "expected OlmoeForCausalLM or OlmoeModel: take the config.json that belongs to the weights"));
}

// Other programs write them, and nothing here reads these keys.
TEST(OlmoeConfigTest, NumbersThatAreNoneDoNoHarmInKeysThatNothingReads) {
  std::string text = Old().dump();
  text.insert(1, "\"x\": [NaN, 1e400], \"y\": \"\\ud800\", ");
  EXPECT_EQ(*ParseOlmoeConfig(text), *Parse(Old()));
  text.replace(text.find("500000.0"), 8, "Infinity");
  EXPECT_THAT(ParseOlmoeConfig(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                               "/rope_theta: Infinity is no number in JSON: write null or a finite "
                                               "number"));
}

TEST(OlmoeConfigTest, AMalformedKeyIsNamed) {
  const std::map<std::string, std::pair<Json, std::string>> cases = {
      {"/vocab_size", {nullptr, "/vocab_size is missing"}},
      {"/model_type", {nullptr, "/model_type is missing"}},
      {"/hidden_size", {"64", "/hidden_size: expected an integer, found a string"}},
      {"/num_experts", {-1, "/num_experts: expected an integer from 0 to 1099511627776, found -1"}},
      {"/num_experts_per_tok",
       {65, "num_experts 64 is less than num_experts_per_tok 65: more experts, or fewer of them for a token"}},
      {"/clip_qkv", {"no", "/clip_qkv: expected a number, found a string"}},
      {"/norm_topk_prob", {1, "/norm_topk_prob: expected a boolean, found a number"}},
      {"/rope_scaling", {3, "/rope_scaling: expected an object or null"}},
      {"/rope_parameters",
       {{{"rope_theta", 10000.0}}, "/rope_parameters/rope_theta: it is 10000, but /rope_theta is 500000"}},
  };
  for (const auto& [key, value] : cases) {
    EXPECT_THAT(With(key, value.first), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(value.second)));
  }
  EXPECT_THAT(ParseOlmoeConfig("{"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not valid JSON")));
}

}  // namespace
}  // namespace reprise::models
