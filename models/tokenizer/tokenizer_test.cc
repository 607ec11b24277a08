#include "models/tokenizer/tokenizer.h"

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
  EXPECT_THAT(
      Tokenizer::FromJson(AsciiTokenizerJson(), R"({"eos_token": "</s>"})"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("tokenizer_config.json: /eos_token: the token \"</s>\" is not in tokenizer.json, so it "
                         "would not be found in texts, where Transformers finds it; remove it, or write "
                         "tokenizer.json anew, with python3 -c 'from transformers import")));
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
