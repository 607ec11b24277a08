#include "models/tokenizer/tokenizer.h"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "nlohmann/json.hpp"
#include "rapidcheck/gtest.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Special = Tokenizer::SpecialTokens;

// Returns the ASCII tokenizer's file after `change`.
template <typename Change>
absl::StatusOr<Tokenizer> With(Change change) {
  Json json = Json::parse(AsciiTokenizerJson());
  change(json);
  return Tokenizer::FromJson(json.dump());
}

TEST(TokenizerTest, EncodesTextAndSpecialTokens) {
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromJson(AsciiTokenizerJson()));
  EXPECT_THAT(*tokenizer.Encode("1+2<eos>"), ElementsAre('1', '+', '2', 1));
  EXPECT_THAT(*tokenizer.Encode(""), ElementsAre());
  EXPECT_EQ(tokenizer.Decode({'a', 1, ' ', 0}), "a<eos> <pad>");
  EXPECT_EQ(tokenizer.Decode({'a', 1, ' ', 0}, Special::kSkip), "a ");
  EXPECT_EQ(tokenizer.Decode({'a', -1, 128, 1 << 30, 'b'}), "ab");
  EXPECT_EQ(tokenizer.vocab_size(), 128);
  EXPECT_EQ(tokenizer.TokenToId("\u0120"), ' ');
  EXPECT_EQ(tokenizer.TokenToId(" "), std::nullopt);
}

TEST(TokenizerTest, NamesWhatItCannotEncode) {
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromJson(AsciiTokenizerJson()));
  EXPECT_THAT(tokenizer.Encode("ab\xff"),
              StatusIs(absl::StatusCode::kInvalidArgument, "the text is not UTF-8 at byte 2"));
  EXPECT_THAT(tokenizer.Encode("caf\u00e9"),
              StatusIs(absl::StatusCode::kInvalidArgument, "the tokenizer has no token for the byte 0xc3"));
}

TEST(TokenizerTest, NormalizedTokensAreFoundAfterNormalization) {
  const auto tokenizer = With([](Json& json) {
    json = Json::parse(AsciiTokenizerJson(256));
    json["normalizer"] = {{"type", "NFC"}};
    Json token = json["added_tokens"][0];
    token["id"] = 256;
    token["content"] = "e\u0301!";
    token["normalized"] = true;
    json["added_tokens"].push_back(token);
  });
  ASSERT_OK(tokenizer);
  EXPECT_THAT(*tokenizer->Encode("\u00e9!"), ElementsAre(256));
  EXPECT_THAT(*tokenizer->Encode("e\u0301!"), ElementsAre(256));
  EXPECT_THAT(*tokenizer->Encode("e\u0301"), ElementsAre(0xc3, 0xa9));
  EXPECT_EQ(tokenizer->vocab_size(), 257);
  EXPECT_EQ(tokenizer->Decode({256, 'a'}), "\ufffd!a");  // U+00E9 is the spelling of the byte 0xE9
}

TEST(TokenizerTest, IgnoreMergesTakesWholeWords) {
  const auto with_merges = [](bool ignore) {
    return *With([&](Json& json) {
      json["model"]["vocab"]["ab"] = 128;
      json["model"]["vocab"]["abc"] = 129;
      json["model"]["merges"] = {"a b"};
      json["model"]["ignore_merges"] = ignore;
    });
  };
  EXPECT_THAT(*with_merges(true).Encode("abc"), ElementsAre(129));
  EXPECT_THAT(*with_merges(false).Encode("abc"), ElementsAre(128, 'c'));
}

TEST(TokenizerTest, BytesWithoutATokenBecomeTheUnknownToken) {
  const auto with_unknown = [](bool fuse) {
    return *With([&](Json& json) {
      json["model"]["unk_token"] = "<pad>";
      json["model"]["fuse_unk"] = fuse;
    });
  };
  EXPECT_THAT(*with_unknown(false).Encode("a\u00e9b\u00e9"), ElementsAre('a', 0, 0, 'b', 0, 0));
  EXPECT_THAT(*with_unknown(true).Encode("a\u00e9b\u00e9"), ElementsAre('a', 0, 'b', 0));
}

TEST(TokenizerTest, ATokenThatNormalizationEmptiesIsNotFound) {
  const auto tokenizer = With([](Json& json) {
    json["normalizer"] = Json::parse(R"({"type": "Strip", "strip_left": true, "strip_right": true})");
    Json token = json["added_tokens"][0];
    token["id"] = 128;
    token["content"] = "  ";
    token["normalized"] = true;
    json["added_tokens"].push_back(token);
  });
  ASSERT_OK(tokenizer);
  EXPECT_THAT(*tokenizer->Encode(" a  b "), ElementsAre('a', ' ', ' ', 'b'));
}

TEST(TokenizerTest, TheConfigNamesSpecialTokens) {
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer,
                       Tokenizer::FromJson(AsciiTokenizerJson(), AsciiTokenizerConfigJson()));
  EXPECT_EQ(tokenizer.pad_id(), 0);
  EXPECT_EQ(tokenizer.eos_id(), 1);
  EXPECT_EQ(tokenizer.bos_id(), 2);
  EXPECT_EQ(tokenizer.json(), AsciiTokenizerJson());
  EXPECT_EQ(tokenizer.config_json(), AsciiTokenizerConfigJson());
  EXPECT_EQ(Tokenizer::FromJson(AsciiTokenizerJson())->eos_id(), std::nullopt);
  EXPECT_THAT(Tokenizer::FromJson(AsciiTokenizerJson(), R"({"eos_token": "</s>"})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "tokenizer_config.json: the token \"</s>\" is not in tokenizer.json"));
}

// Transformers adds such tokens to those of tokenizer.json: texts with them would have other tokens there.
TEST(TokenizerTest, ATokenThatOnlyTheConfigNamesIsRefused) {
  const auto expect = [](const std::string& config, const std::string& sentence) {
    EXPECT_THAT(Tokenizer::FromJson(AsciiTokenizerJson(), config),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tokenizer_config.json: " + sentence)));
  };
  expect(R"({"added_tokens_decoder": {"1": {"content": "<eos>"}, "500": {"content": "<x>"}}})",
         "/added_tokens_decoder/500: the token \"<x>\" (id 500) is not in tokenizer.json, so it would not be found in "
         "texts; remove it, or write tokenizer.json anew, with python3 -c 'from transformers import");
  expect(R"({"added_tokens_decoder": {"500": {"content": "<eos>"}}})",
         "/added_tokens_decoder/500: the token \"<eos>\" has the id 500, but in tokenizer.json it has 1; write in both "
         "files the id that the model was trained with");
  expect(R"({"added_tokens_decoder": {"97": {"content": "a"}}})",
         "/added_tokens_decoder/97: the token \"a\" (id 97) is a word of the vocabulary of tokenizer.json, and not "
         "among its added_tokens, so it would not be found in texts");
  expect(R"({"additional_special_tokens": ["<eos>", "<x>"]})",
         "/additional_special_tokens/1: the token \"<x>\" is not in tokenizer.json");
  expect(R"({"extra_special_tokens": ["<x>"]})", "/extra_special_tokens/0: the token \"<x>\" is not");
  expect(R"({"extra_special_tokens": {"image_token": "<x>"}})", "/extra_special_tokens/image_token: the token \"<x>\"");
  expect(R"({"mask_token": "<x>"})", "/mask_token: the token \"<x>\" is not in tokenizer.json");
  EXPECT_OK(Tokenizer::FromJson(AsciiTokenizerJson(), R"({"unk_token": "a", "additional_special_tokens": ["<bos>"],
      "added_tokens_decoder": {"0": {"content": "<pad>"}, "1": {"content": "<eos>"}}})"));
}

TEST(TokenizerTest, ATokenThatOnlyAnOlderFileNamesIsRefusedWhereTransformersReadsIt) {
  const std::string directory = ::testing::TempDir() + "/tokenizer_of_older_files";
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::remove(directory + "/" + name);
    ASSERT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/" + name, text));
  };
  for (const auto& [name, text, sentence] : std::vector<std::array<std::string, 3>>{
           {"special_tokens_map.json", R"({"additional_special_tokens": ["<x>"]})",
            "/additional_special_tokens/0: the token \"<x>\" is not in tokenizer.json"},
           {"added_tokens.json", R"({"<eos>": 1, "<x>": 128})", "/<x>: the token \"<x>\" (id 128) is not in"},
           {"added_tokens.json", R"({"<eos>": 7})", "/<eos>: the token \"<eos>\" has the id 7, but in"}}) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    write("tokenizer.json", AsciiTokenizerJson());
    write(name, text);
    EXPECT_THAT(Tokenizer::FromDirectory(directory),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(directory + "/" + name + ": " + sentence)));
    write("tokenizer_config.json", R"({"eos_token": "<eos>"})");
    EXPECT_FALSE(Tokenizer::FromDirectory(directory).ok()) << name;
    write("tokenizer_config.json", R"({"added_tokens_decoder": {"1": {"content": "<eos>"}}})");
    EXPECT_OK(Tokenizer::FromDirectory(directory)) << name;
  }
}

TEST(TokenizerTest, ReadsADirectory) {
  ASSERT_FALSE(testing::GoldenModels().empty());
  for (const std::string& model : testing::GoldenModels()) {
    const std::string directory = testing::GoldensDirectory() + "/models/" + model;
    ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromDirectory(directory));
    EXPECT_EQ(tokenizer.Decode(*tokenizer.Encode("12+34=46<eos>")), "12+34=46<eos>");
    EXPECT_TRUE(tokenizer.eos_id().has_value());
  }
  EXPECT_THAT(Tokenizer::FromDirectory("no/such"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/such/tokenizer.json")));
}

TEST(TokenizerTest, ATokenizerInAnotherFormatIsNamedWithTheWayToConvertIt) {
  for (const std::string name : {"vocab.json", "tokenizer.model"}) {
    const std::string directory = ::testing::TempDir() + "/tokenizer_in_" + name;
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    ASSERT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/" + name, "x"));
    EXPECT_THAT(Tokenizer::FromDirectory(directory),
                StatusIs(absl::StatusCode::kNotFound,
                         HasSubstr("; the directory has its tokenizer as " + name +
                                   ", which is not read: write tokenizer.json beside it, with python3 -c 'from "
                                   "transformers import AutoTokenizer; AutoTokenizer.from_pretrained(\"" +
                                   directory + "\").save_pretrained(\"" + directory + "\")'")));
  }
}

TEST(TokenizerTest, AnEmptyConfigurationOrALinkToNowhereIsRefused) {
  const std::string directory = ::testing::TempDir() + "/tokenizer_lost", config = directory + "/tokenizer_config.json";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/tokenizer.json", AsciiTokenizerJson()));
  EXPECT_OK(Tokenizer::FromDirectory(directory));
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), config, ""));
  EXPECT_THAT(Tokenizer::FromDirectory(directory),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(config + " is empty")));
  std::filesystem::remove(config);
  std::filesystem::create_symlink("../blobs/ab12", config);
  EXPECT_THAT(Tokenizer::FromDirectory(directory), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                            HasSubstr("a symbolic link to ../blobs/ab12, which does")));
}

TEST(TokenizerTest, ErrorsNameTheFile) {
  EXPECT_THAT(Tokenizer::FromJson("{}"),
              StatusIs(absl::StatusCode::kInvalidArgument, "tokenizer.json: /model is missing"));
}

RC_GTEST_PROP(TokenizerTest, WhatIsEncodedIsDecoded, ()) {
  static const Tokenizer* const tokenizer = new Tokenizer(*Tokenizer::FromJson(AsciiTokenizerJson(256)));
  // The first three bytes have no token of their own.
  const auto bytes = *rc::gen::container<std::string>(rc::gen::inRange<char>(3, 127));
  RC_ASSERT(tokenizer->Decode(*tokenizer->Encode(bytes)) == bytes);
}

}  // namespace
}  // namespace reprise::models
