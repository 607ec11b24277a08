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

TEST(TokenizerConfigTest, NamesTheOtherTokensWithTheirPlaces) {
  ASSERT_OK_AND_ASSIGN(const SpecialTokenNames names, ParseTokenizerConfig(R"({
      "eos_token": "</s>", "unk_token": "<u>", "mask_token": null, "add_bos_token": true,
      "additional_special_tokens": ["<a>", {"content": "<b>", "lstrip": true}, ""],
      "extra_special_tokens": {"image_token": "<c>"},
      "added_tokens_decoder": {"7": {"content": "<d>", "special": true}}})"));
  std::vector<std::string> found;
  for (const NamedToken& token : names.others) {
    found.push_back(
        absl::StrCat(token.place, " ", token.content, " ", token.id.value_or(-1), token.is_word ? "w" : ""));
  }
  EXPECT_THAT(found,
              ::testing::ElementsAre("/unk_token <u> -1w", "/additional_special_tokens/0 <a> -1",
                                     "/additional_special_tokens/1 <b> -1", "/extra_special_tokens/image_token <c> -1",
                                     "/added_tokens_decoder/7 <d> 7"));
  EXPECT_TRUE(names.has_added_tokens);
  EXPECT_FALSE(ParseTokenizerConfig("{}")->has_added_tokens);
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedToken> added, ParseAddedTokens(R"({"<x>": 9, "": 3})"));
  ASSERT_EQ(added.size(), 1u);
  EXPECT_EQ(added[0].content, "<x>");
  EXPECT_EQ(added[0].id, 9);
}

TEST(TokenizerConfigTest, AMalformedListOfTokensIsNamed) {
  const auto expect = [](const std::string& json, const std::string& sentence) {
    EXPECT_THAT(ParseTokenizerConfig(json),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(sentence)));
  };
  expect(R"({"additional_special_tokens": 3})", "/additional_special_tokens: expected an array");
  expect(R"({"extra_special_tokens": [3]})", "/extra_special_tokens/0: expected a string or an object");
  expect(R"({"added_tokens_decoder": ["<a>"]})", "/added_tokens_decoder: expected an object");
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
