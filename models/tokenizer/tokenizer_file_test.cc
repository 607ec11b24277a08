#include "models/tokenizer/tokenizer_file.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "nlohmann/json.hpp"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kUnimplemented = absl::StatusCode::kUnimplemented;

// Returns the result of parsing the ASCII tokenizer's file with the value at `place` (a JSON pointer) set to `value`, a
// JSON text.
absl::StatusOr<TokenizerFile> With(const std::string& place, const std::string& value) {
  Json json = Json::parse(AsciiTokenizerJson());
  json[Json::json_pointer(place)] = Json::parse(value);
  return ParseTokenizerFile(json.dump());
}

void ExpectError(const std::string& place, const std::string& value, absl::StatusCode code,
                 const std::string& sentence) {
  EXPECT_THAT(With(place, value), StatusIs(code, HasSubstr(sentence))) << place << " = " << value;
}

TEST(TokenizerFileTest, ReadsVocabularyMergesAndAddedTokens) {
  Json json = Json::parse(AsciiTokenizerJson());
  json["model"]["vocab"]["ab"] = 128;
  json["model"]["vocab"]["abc"] = 129;
  json["model"]["merges"] = {"a b", {"ab", "c"}};
  json["model"]["ignore_merges"] = true;
  json["normalizer"] = Json::parse(R"({"type": "Sequence", "normalizers": [{"type": "NFC"}]})");
  ASSERT_OK_AND_ASSIGN(const TokenizerFile file, ParseTokenizerFile(json.dump()));
  EXPECT_EQ(file.vocabulary.at("abc"), 129);
  ASSERT_EQ(file.merges.size(), 2u);
  EXPECT_EQ(file.merges[1].left, 128);
  EXPECT_EQ(file.merges[1].right, 'c');
  EXPECT_EQ(file.merges[1].merged, 129);
  EXPECT_TRUE(file.ignore_merges);
  ASSERT_EQ(file.normalizer.size(), 1u);
  EXPECT_EQ(std::get<UnicodeForm>(file.normalizer[0]), UnicodeForm::kNfc);
  ASSERT_EQ(file.added_tokens.size(), 3u);
  EXPECT_EQ(file.added_tokens[1].content, "<eos>");
  EXPECT_TRUE(file.added_tokens[1].special);
  ASSERT_EQ(file.pre_tokenizer.steps.size(), 1u);
  EXPECT_FALSE(std::get<ByteLevelStep>(file.pre_tokenizer.steps[0]).words.has_value());
}

// Returns the result with this Sequence, the JSON text of its steps.
absl::StatusOr<TokenizerFile> WithSteps(const std::string& steps) {
  return With("/pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [)" + steps + "]}");
}

constexpr char kByteLevel[] = R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})";

TEST(TokenizerFileTest, ReadsEveryPreTokenizer) {
  ASSERT_OK_AND_ASSIGN(const TokenizerFile gpt2,
                       With("/pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": true})"));
  EXPECT_TRUE(std::get<ByteLevelStep>(gpt2.pre_tokenizer.steps[0]).words.has_value());
  ASSERT_OK_AND_ASSIGN(
      const TokenizerFile file,
      WithSteps(R"({"type": "Split", "pattern": {"Regex": "x"}, "behavior": "MergedWithNext", "invert": false},)"
                R"({"type": "Split", "pattern": {"String": "."}, "behavior": "Removed", "invert": true},)"
                R"({"type": "Punctuation"}, {"type": "Punctuation", "behavior": "Contiguous"},)"
                R"({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}]},)" +
                std::string(kByteLevel) + R"(,{"type": "Digits", "individual_digits": false})"));
  std::vector<std::pair<SplitBehavior, bool>> splits;
  for (const auto& step : file.pre_tokenizer.steps) {
    const auto* const split = std::get_if<SplitStep>(&step);
    if (split != nullptr) splits.emplace_back(split->behavior, split->invert);
  }
  EXPECT_THAT(splits, ::testing::ElementsAre(
                          std::pair(SplitBehavior::kMergedWithNext, false), std::pair(SplitBehavior::kRemoved, true),
                          std::pair(SplitBehavior::kIsolated, false), std::pair(SplitBehavior::kContiguous, false),
                          std::pair(SplitBehavior::kIsolated, false), std::pair(SplitBehavior::kContiguous, false)));
  EXPECT_TRUE(std::holds_alternative<ByteLevelStep>(file.pre_tokenizer.steps[5]));
}

TEST(TokenizerFileTest, APreTokenizerAtFaultIsNamedByItsPlace) {
  EXPECT_THAT(WithSteps(R"({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"})"),
              StatusIs(kInvalid, HasSubstr("/pre_tokenizer/pretokenizers/0/pattern: the pattern ( is malformed")));
  EXPECT_THAT(WithSteps(R"({"type": "Split", "pattern": "x", "behavior": "Isolated"})"),
              StatusIs(kInvalid, HasSubstr("/pattern: expected an object with one of Regex and String")));
  EXPECT_THAT(WithSteps(R"({"type": "Split", "pattern": {"String": "x"}, "behavior": "Doubled"})"),
              StatusIs(kUnimplemented, HasSubstr("/behavior: Doubled is not supported; only Removed, Isolated, "
                                                 "MergedWithPrevious, MergedWithNext or Contiguous is")));
  EXPECT_THAT(WithSteps(R"({"type": "CharDelimiterSplit", "delimiter": ""})"),
              StatusIs(kInvalid, HasSubstr("/0/delimiter: expected a character")));
  EXPECT_THAT(
      WithSteps(R"({"type": "UnicodeScripts"})"),
      StatusIs(kUnimplemented, HasSubstr("/pretokenizers/0: a pre-tokenizer of type UnicodeScripts is not supported")));
  EXPECT_THAT(WithSteps(R"({"type": "FixedLength", "length": 0})"),
              StatusIs(kInvalid, HasSubstr("/0/length: expected an integer from 1 to")));
  EXPECT_THAT(WithSteps(R"({"type": "Metaspace", "replacement": "ab"})"),
              StatusIs(kInvalid, HasSubstr("/0/replacement: expected one character")));
  EXPECT_THAT(
      WithSteps(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"})"),
      StatusIs(kUnimplemented, HasSubstr("/0/prepend_scheme: last is not supported; only always, first or never")));
  EXPECT_THAT(WithSteps(R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": false})"),
              StatusIs(kInvalid, HasSubstr("prepend_scheme is not \"never\"; set it to \"never\"")));
  EXPECT_THAT(WithSteps(R"({"type": "BertPreTokenizer"}, {"type": "Metaspace", "replacement": "_", )"
                        R"("prepend_scheme": "first"})"),
              StatusIs(kUnimplemented, HasSubstr("/1: prepend_scheme first after other steps is not supported")));
}

TEST(TokenizerFileTest, AModelWithMergesAndWithoutATypeIsBpe) {
  Json json = Json::parse(AsciiTokenizerJson());
  json["model"].erase("type");
  EXPECT_OK(ParseTokenizerFile(json.dump()));
  json["model"].erase("merges");
  EXPECT_THAT(ParseTokenizerFile(json.dump()), StatusIs(kInvalid, "/model/type is missing"));
}

TEST(TokenizerFileTest, APairThatAppearsTwiceHasItsLastRankAndTheVersionLineIsNoPair) {
  Json json = Json::parse(AsciiTokenizerJson());
  json["model"]["vocab"]["ab"] = 128;
  json["model"]["vocab"]["bc"] = 129;
  json["model"]["merges"] = {"#version: 0.2", "a b", "b c", "a b"};
  ASSERT_OK_AND_ASSIGN(const TokenizerFile file, ParseTokenizerFile(json.dump()));
  ASSERT_EQ(file.merges.size(), 2u);
  EXPECT_EQ(file.merges[0].merged, 129);
  EXPECT_EQ(file.merges[1].merged, 128);
}

// Encode leaves out the tokens that a post-processor puts around a text.
TEST(TokenizerFileTest, APostProcessorMayPutTokensAroundTheText) {
  EXPECT_OK(With("/post_processor/single/1", R"({"SpecialToken": {"id": "<bos>", "type_id": 0}})"));
  EXPECT_OK(With("/post_processor", R"({"type": "RobertaProcessing", "sep": ["<eos>", 1], "cls": ["<bos>", 2]})"));
  EXPECT_OK(With("/post_processor", R"({"type": "BertProcessing", "sep": ["<eos>", 1], "cls": ["<bos>", 2]})"));
  ExpectError("/post_processor/single", R"([])", kUnimplemented,
              "/post_processor/single: the text 0 times is not supported; only once is");
  ExpectError("/post_processor/single/1", R"({"Sequence": {"id": "A", "type_id": 0}})", kUnimplemented,
              "/post_processor/single: the text 2 times is not supported; only once is");
}

TEST(TokenizerFileTest, AMalformedModelIsNamedByItsPlace) {
  ExpectError("/model", "null", kInvalid, "/model is missing");
  ExpectError("/model/vocab", "[]", kInvalid, "/model/vocab: expected an object, found an array");
  ExpectError("/model/vocab/a", "-1", kInvalid, "/model/vocab/a: expected an integer from 0 to 16777215, found -1");
  ExpectError("/model/vocab/a", "98", kInvalid, "the id 98 belongs to");
  ExpectError("/model/vocab", "{}", kInvalid,
              "/model/vocab: the vocabulary has no tokens, so no text can be encoded; take the tokenizer.json that "
              "belongs to the model, or export it again");
  ExpectError("/model/merges", "null", kInvalid, "/model/merges is missing");
  ExpectError("/model/merges", R"(["a"])", kInvalid,
              "/model/merges/0: expected two tokens with one space between them");
  ExpectError("/model/merges", R"([["a"]])", kInvalid, "/model/merges/0: expected 2 tokens, found 1");
  ExpectError("/model/merges", R"([["a", 1]])", kInvalid, "/model/merges/0/1: expected a string, found a number");
  ExpectError("/model/merges", R"(["a zz"])", kInvalid, "/model/merges/0: \"zz\" is not in the vocabulary");
  ExpectError("/model/merges", R"(["a b"])", kInvalid, "/model/merges/0: \"ab\" is not in the vocabulary");
}

TEST(TokenizerFileTest, AMalformedAddedTokenIsNamedByItsPlace) {
  ExpectError("/added_tokens/1/content", "\"\"", kInvalid, "/added_tokens/1/content: a token cannot be empty");
  ExpectError("/added_tokens/1/content", "\"<pad>\"", kInvalid,
              "/added_tokens/1: another token has the same content; remove one");
  ExpectError("/added_tokens/1/special", "null", kInvalid, "/added_tokens/1/special is missing");
  ExpectError("/added_tokens/1/lstrip", "0", kInvalid, "/added_tokens/1/lstrip: expected a boolean, found a number");
  ExpectError(
      "/added_tokens/1/id", "7", kInvalid,
      "/added_tokens/1: \"<eos>\" has the id 7, but Hugging Face's tokenizers give it 1, its id in /model/vocab; write "
      "the id there that the model was trained with");
  ExpectError(
      "/added_tokens/1/content", "\"<new>\"", kInvalid,
      "/added_tokens/1: \"<new>\" has the id 1, but Hugging Face's tokenizers give it 128, the next id that is free, "
      "as added tokens follow the vocabulary without a hole; list a token for each id before it");
}

TEST(TokenizerFileTest, AnotherKindOfTokenizerIsUnimplemented) {
  ExpectError("/version", "\"2.0\"", kUnimplemented, "/version: version 2.0 is not supported; only 1.0 is");
  ExpectError("/model/type", "\"Unigram\"", kUnimplemented, "/model: a model of type Unigram is not supported");
  ExpectError("/model/dropout", "0.1", kUnimplemented, "/model/dropout: dropout of merges is not supported");
  ExpectError("/model/unk_token", "\"<unk>\"", kInvalid,
              "/model/unk_token: \"<unk>\" is not in the vocabulary; add it there, or set unk_token to null");
  ExpectError("/normalizer", R"({"type": "Precompiled", "precompiled_charsmap": ""})", kUnimplemented,
              "/normalizer: a normalizer of type Precompiled is not supported; only NFC, NFD, NFKC, NFKD, "
              "BertNormalizer, ByteLevel, Lowercase, Nmt, Prepend, Replace, Strip or StripAccents is");
  ExpectError("/pre_tokenizer", R"({"type": "UnicodeScripts"})", kUnimplemented,
              "/pre_tokenizer: a pre-tokenizer of type UnicodeScripts is not supported; only BertPreTokenizer, "
              "ByteLevel, CharDelimiterSplit, Digits, FixedLength, Metaspace, Punctuation, Split, Whitespace or "
              "WhitespaceSplit is");
  ExpectError("/decoder", R"({"type": "CTC"})", kUnimplemented,
              "/decoder: a decoder of type CTC is not supported; only BPEDecoder, ByteFallback, ByteLevel, Fuse, "
              "Metaspace, Replace, Strip or WordPiece is");
  ExpectError("/decoder", R"({"type": "Replace", "pattern": {"Regex": "a"}, "content": ""})", kUnimplemented,
              "/decoder/pattern: a regular expression in a decoder is not supported; only a String is");
  ExpectError("/decoder", R"({"type": "Replace", "pattern": {"String": ""}, "content": ""})", kInvalid,
              "/decoder/pattern/String: expected a text that is not empty");
  ExpectError("/post_processor", R"({"type": "Reversed"})", kUnimplemented,
              "/post_processor: a post-processor of type Reversed is not supported");
}

TEST(TokenizerFileTest, AffixesOfSubwordsAreReadAndAPairMustHaveThem) {
  Json json = Json::parse(AsciiTokenizerJson());
  json["model"]["continuing_subword_prefix"] = "##";
  json["model"]["end_of_word_suffix"] = "</w>";
  json["model"]["vocab"]["##b</w>"] = 128;
  json["model"]["vocab"]["ab</w>"] = 129;
  json["model"]["merges"] = {"a ##b</w>"};
  ASSERT_OK_AND_ASSIGN(const TokenizerFile file, ParseTokenizerFile(json.dump()));
  EXPECT_EQ(file.subword_prefix, "##");
  EXPECT_EQ(file.word_suffix, "</w>");
  EXPECT_EQ(file.merges[0].merged, 129);
  json["model"]["merges"] = {"a b"};
  EXPECT_THAT(ParseTokenizerFile(json.dump()),
              StatusIs(kInvalid,
                       "/model/merges/0: \"b\" does not begin with the continuing_subword_prefix \"##\"; "
                       "correct the pair or the prefix"));
  json["model"]["merges"] = Json::array();
  json["model"]["byte_fallback"] = true;
  EXPECT_THAT(ParseTokenizerFile(json.dump()),
              StatusIs(kUnimplemented, HasSubstr("/model/byte_fallback: true together with a continuing_subword_prefix "
                                                 "or an end_of_word_suffix is not supported; only false is")));
}

TEST(TokenizerFileTest, MetaspaceAtTheFirstPieceNeedsANormalizerThatKeepsTheBeginning) {
  Json json = Json::parse(AsciiTokenizerJson());
  json["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "first"}};
  json["normalizer"] = {{"type", "NFC"}};
  EXPECT_OK(ParseTokenizerFile(json.dump()));
  json["normalizer"] = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}};
  EXPECT_THAT(ParseTokenizerFile(json.dump()),
              StatusIs(kUnimplemented,
                       "/pre_tokenizer: prepend_scheme first after a normalizer that removes characters "
                       "is not supported; only always or never is"));
}

}  // namespace
}  // namespace reprise::models
