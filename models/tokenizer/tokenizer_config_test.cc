#include "models/tokenizer/tokenizer_config.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;

TEST(TokenizerConfigTest, ATokenIsAStringOrAnObjectWithContent) {
  ASSERT_OK_AND_ASSIGN(const SpecialTokenNames names,
                       ParseTokenizerConfig(R"({"bos_token": null, "eos_token": "</s>", "pad_token": {"content": "<p>"},
                                                "model_max_length": 1000000000000000019884624838656})"));
  EXPECT_EQ(names.bos, std::nullopt);
  EXPECT_EQ(names.eos, "</s>");
  EXPECT_EQ(names.pad, "<p>");
}

std::string Describe(const NamedToken& token) {
  return absl::StrCat(token.place, " ", token.content, " ", token.id.value_or(-1), token.is_list ? " list" : "",
                      token.is_newer ? " newer" : "");
}

TEST(TokenizerConfigTest, NamesTheTokensWithTheirPlaces) {
  ASSERT_OK_AND_ASSIGN(const SpecialTokenNames names, ParseTokenizerConfig(R"({
      "eos_token": "</s>", "unk_token": "<u>", "mask_token": null, "add_bos_token": true, "pad_token": "",
      "boi_token": "<i>", "eoi_token": {"content": "<j>"}, "odd_token": {"a": 1},
      "additional_special_tokens": ["<a>", {"content": "<b>", "lstrip": true}, ""],
      "extra_special_tokens": {"image_token": "<c>"}, "model_specific_special_tokens": {"audio_token": "<e>"},
      "added_tokens_decoder": {"7": {"content": "<d>", "special": true}}})"));
  std::vector<std::string> found;
  for (const NamedToken& token : names.special) found.push_back(Describe(token));
  EXPECT_THAT(found, ::testing::ElementsAre("/eos_token </s> -1", "/unk_token <u> -1", "/boi_token <i> -1 newer",
                                            "/eoi_token <j> -1 newer", "/additional_special_tokens/0 <a> -1 list",
                                            "/additional_special_tokens/1 <b> -1 list",
                                            "/extra_special_tokens/image_token <c> -1 list",
                                            "/model_specific_special_tokens/audio_token <e> -1 list newer"));
  ASSERT_EQ(names.added.size(), 1u);
  EXPECT_EQ(Describe(names.added[0]), "/added_tokens_decoder/7 <d> 7");
  EXPECT_EQ(names.pad, std::nullopt);
  EXPECT_TRUE(names.has_added_tokens);
  EXPECT_FALSE(ParseTokenizerConfig("{}")->has_added_tokens);
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedToken> added, ParseAddedTokens(R"({"<x>": 9, "": 3})"));
  ASSERT_EQ(added.size(), 1u);
  EXPECT_EQ(added[0].content, "<x>");
  EXPECT_EQ(added[0].id, 9);
}

TEST(TokenizerConfigTest, FlagsHaveTheDefaultsOfTransformers) {
  ASSERT_OK_AND_ASSIGN(const SpecialTokenNames names, ParseTokenizerConfig(R"({"added_tokens_decoder": {
      "7": {"content": "<a>"}, "8": {"content": "<b>", "special": true, "rstrip": true}, "9": "<c>"}})"));
  ASSERT_EQ(names.added.size(), 3u);
  EXPECT_TRUE(names.added[0].flags->normalized);
  EXPECT_FALSE(names.added[0].flags->special || names.added[0].flags->lstrip || names.added[0].flags->single_word);
  EXPECT_FALSE(names.added[1].flags->normalized);
  EXPECT_TRUE(names.added[1].flags->special && names.added[1].flags->rstrip);
  EXPECT_FALSE(names.added[2].flags.has_value());
}

TEST(TokenizerConfigTest, SettingsThatAreNullAreToldFromAbsentOnes) {
  ASSERT_OK_AND_ASSIGN(const SpecialTokenNames names,
                       ParseTokenizerConfig(R"({"pad_token": null, "add_prefix_space": null})"));
  EXPECT_TRUE(names.names_padding && names.keeps_prefix_space);
  ASSERT_OK_AND_ASSIGN(const SpecialTokenNames others,
                       ParseTokenizerConfig(R"({"add_prefix_space": true, "split_special_tokens": true})"));
  EXPECT_FALSE(others.names_padding || others.keeps_prefix_space);
  EXPECT_EQ(others.add_prefix_space, true);
  EXPECT_TRUE(others.split_special_tokens);
}

TEST(TokenizerConfigTest, AMalformedListOfTokensIsNamed) {
  const auto expect = [](const std::string& json, const std::string& sentence) {
    EXPECT_THAT(ParseTokenizerConfig(json),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(sentence)));
  };
  expect(R"({"additional_special_tokens": 3})", "/additional_special_tokens: expected an array");
  expect(R"({"extra_special_tokens": [3]})", "/extra_special_tokens/0: expected a string or an object");
  expect(R"({"added_tokens_decoder": ["<a>"]})", "/added_tokens_decoder: expected an object");
  expect(R"({"split_special_tokens": 1})", "/split_special_tokens: expected");
  expect(R"({"eos_token": {"content": "<a>", "lstrip": 1}})", "/eos_token/lstrip: expected");
  expect(R"({"added_tokens_decoder": {"a": "<a>"}})", "/added_tokens_decoder/a: expected the id of a token as its key");
  EXPECT_THAT(ParseAddedTokens(R"({"<x>": "9"})"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("/<x>: expected an integer")));
}

TEST(TokenizerConfigTest, AMalformedFieldIsNamed) {
  EXPECT_THAT(ParseTokenizerConfig(R"({"eos_token": 3})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "/eos_token: expected a string or an object whose \"content\" is a string"));
  for (const char* const text : {"", "{", "{\"a\": \"\xff\"}"}) {
    EXPECT_THAT(ParseTokenizerConfig(text),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("not valid JSON")));
  }
  EXPECT_THAT(ParseTokenizerConfig("[]"), StatusIs(absl::StatusCode::kInvalidArgument, "(root): expected an object"));
}

}  // namespace
}  // namespace reprise::models
