#include "models/tokenizer/config_tokens.h"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "models/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Json Ascii() { return Json::parse(AsciiTokenizerJson()); }

void ExpectRefused(const std::string& config, const std::string& sentence, const Json& tokenizer = Ascii()) {
  SCOPED_TRACE(config);
  EXPECT_THAT(Tokenizer::FromJson(tokenizer.dump(), config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tokenizer_config.json: " + sentence)));
}

// Writes the files anew and reads them.
class ConfigTokensTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    Write("tokenizer.json", AsciiTokenizerJson());
  }

  void Write(const std::string& name, const std::string& text) {
    std::filesystem::remove(directory_ + "/" + name);
    ASSERT_OK(WriteFileAtomically(PosixFileSystem(), directory_ + "/" + name, text));
  }

  const std::string directory_ =
      ::testing::TempDir() + "/config_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

// Transformers adds such tokens to those of tokenizer.json: texts with them would have other tokens there.
TEST_F(ConfigTokensTest, ATokenThatOnlyTheConfigNamesIsRefused) {
  ExpectRefused(R"({"added_tokens_decoder": {"1": {"content": "<eos>"}, "128": {"content": "<x>"}}})",
                "/added_tokens_decoder/128: the token \"<x>\" (id 128) is not in tokenizer.json, so it would not be "
                "found in texts, where Transformers finds it; remove it, or write tokenizer.json anew, with python3 -c "
                "'from transformers import");
  ExpectRefused(R"({"added_tokens_decoder": {"500": {"content": "<eos>"}}})",
                "/added_tokens_decoder/500: the token \"<eos>\" has the id 500, but in tokenizer.json it has 1; write "
                "in both files the id that the model was trained with");
  ExpectRefused(R"({"added_tokens_decoder": {"97": {"content": "a"}}})",
                "/added_tokens_decoder/97: the token \"a\" (id 97) is a word of the vocabulary of tokenizer.json, and "
                "not among its added_tokens, so it would not be found in texts");
  ExpectRefused(R"({"additional_special_tokens": ["<eos>", "<x>"]})",
                "/additional_special_tokens/1: the token \"<x>\" is not in tokenizer.json");
  ExpectRefused(R"({"extra_special_tokens": ["<x>"]})", "/extra_special_tokens/0: the token \"<x>\" is not");
  ExpectRefused(R"({"extra_special_tokens": {"image_token": "<x>"}})",
                "/extra_special_tokens/image_token: the token \"<x>\"");
  EXPECT_OK(Tokenizer::FromJson(AsciiTokenizerJson(), R"({"unk_token": "<eos>", "additional_special_tokens": ["<bos>"],
      "added_tokens_decoder": {"0": {"content": "<pad>"}, "1": {"content": "<eos>"}}})"));
}

TEST_F(ConfigTokensTest, AStandardNameOfAWordOrOfNoTokenIsRefused) {
  for (const std::string name : {"bos", "eos", "pad", "unk", "sep", "cls", "mask"}) {
    const std::string place = "/" + name + "_token: the token ";
    ExpectRefused("{\"" + name + "_token\": \"a\"}",
                  place +
                      "\"a\" is a word of the vocabulary of tokenizer.json, and not among its added_tokens, so it "
                      "would not be found in texts, where Transformers finds it; remove it, or write");
    ExpectRefused("{\"" + name + "_token\": \"<x>\"}", place + "\"<x>\" is not in tokenizer.json, so it would not");
  }
}

TEST_F(ConfigTokensTest, ATokenThatTransformers5AloneAddsIsRefused) {
  const std::string remedy =
      ", so it would not be found in texts, where Transformers 5 finds it; remove it, or write tokenizer.json anew, "
      "with Transformers 5: python3 -c";
  ExpectRefused(R"({"boi_token": "<x>"})", "/boi_token: the token \"<x>\" is not in tokenizer.json" + remedy);
  ExpectRefused(R"({"image_token": "a"})", "/image_token: the token \"a\" is a word of the vocabulary of");
  ExpectRefused(R"({"model_specific_special_tokens": {"audio_token": "<x>"}})",
                "/model_specific_special_tokens/audio_token: the token \"<x>\" is not in tokenizer.json" + remedy);
  EXPECT_OK(Tokenizer::FromJson(AsciiTokenizerJson(), R"({"boi_token": "<bos>", "add_bos_token": true})"));
}

TEST_F(ConfigTokensTest, ThePaddingTokenOfTokenizerJsonIsAddedUnlessTheConfigNamesOne) {
  Json json = Ascii();
  json["padding"] = {{"pad_token", "a"}, {"pad_id", 97}};
  EXPECT_THAT(Tokenizer::FromJson(json.dump()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tokenizer.json: /padding/pad_token: the token \"a\" is a word of the vocabulary")));
  EXPECT_OK(Tokenizer::FromJson(json.dump(), R"({"pad_token": "<pad>"})"));
  EXPECT_OK(Tokenizer::FromJson(json.dump(), R"({"pad_token": null})"));
}

// Both Transformers 4.57 and 5.24 give these tokens.
TEST_F(ConfigTokensTest, TheFlagsOfAddedTokensDecoderReplaceThoseOfTokenizerJson) {
  const auto encode = [](const std::string& flag, const std::string& text) {
    const std::string config =
        R"({"added_tokens_decoder": {"1": {"content": "<eos>", "special": true, ")" + flag + "\": true}}}";
    return Tokenizer::FromJson(AsciiTokenizerJson(), config)->Encode(text).value();
  };
  EXPECT_THAT(encode("other", "a <eos> b"), ElementsAre('a', ' ', 1, ' ', 'b'));
  EXPECT_THAT(encode("lstrip", "a <eos> b"), ElementsAre('a', 1, ' ', 'b'));
  EXPECT_THAT(encode("rstrip", "a <eos> b"), ElementsAre('a', ' ', 1, 'b'));
  EXPECT_THAT(encode("single_word", "x<eos>y"), ElementsAre('x', '<', 'e', 'o', 's', '>', 'y'));
}

TEST_F(ConfigTokensTest, ATokenThatOnlyTheConfigNormalizesIsFoundAfterNormalization) {
  Json json = Ascii();
  json["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_THAT(*Tokenizer::FromJson(json.dump())->Encode("<EOS>"), ElementsAre('<', 'e', 'o', 's', '>'));
  const auto tokenizer =
      Tokenizer::FromJson(json.dump(), R"({"added_tokens_decoder": {"1": {"content": "<eos>", "normalized": true}}})");
  ASSERT_OK(tokenizer);
  EXPECT_THAT(*tokenizer->Encode("<EOS>"), ElementsAre(1));
}

TEST_F(ConfigTokensTest, ATokenWithAUseIsSpecialIfTransformersAddsItAnew) {
  Json json = Ascii();
  json["added_tokens"][1]["special"] = false;
  const auto decode = [&](const std::string& config) {
    return Tokenizer::FromJson(json.dump(), config)->Decode({'a', 1}, Tokenizer::SpecialTokens::kSkip);
  };
  EXPECT_EQ(decode("{}"), "a<eos>");
  EXPECT_EQ(decode(R"({"eos_token": "<eos>"})"), "a");
  EXPECT_EQ(decode(R"({"eos_token": "<eos>", "added_tokens_decoder": {}})"), "a<eos>");
  EXPECT_EQ(decode(R"({"eos_token": "<eos>", "added_tokens_decoder": {"1": {"content": "<eos>"}}})"), "a");
  EXPECT_EQ(decode(R"({"added_tokens_decoder": {"1": {"content": "<eos>", "special": true}}})"), "a");
}

TEST_F(ConfigTokensTest, FlagsThatTheVersionsOfTransformersTakeFromDifferentFilesAreRefused) {
  const std::string token = R"({"content": "<eos>", "special": true, "lstrip": true})";
  const std::string sentence =
      ": the token \"<eos>\" has another single_word, lstrip, rstrip or normalized than in the added_tokens of "
      "tokenizer.json, and versions of Transformers differ in which they take; write the same in both, or \"<eos>\" "
      "alone here";
  ExpectRefused("{\"additional_special_tokens\": [" + token + "]}", "/additional_special_tokens/0" + sentence);
  ExpectRefused("{\"eos_token\": " + token + ", \"added_tokens_decoder\": {}}", "/eos_token" + sentence);
  // They agree here, on tokenizer.json, added_tokens_decoder, and the first that names the token.
  for (const std::string rest : {"}", R"(, "added_tokens_decoder": {"1": {"content": "<eos>", "special": true}}})"}) {
    const auto tokenizer = Tokenizer::FromJson(AsciiTokenizerJson(), "{\"eos_token\": " + token + rest);
    ASSERT_OK(tokenizer);
    EXPECT_THAT(*tokenizer->Encode("a <eos>"), ElementsAre('a', ' ', 1));
  }
  EXPECT_OK(Tokenizer::FromJson(AsciiTokenizerJson(),
                                "{\"eos_token\": \"<eos>\", \"additional_special_tokens\": [" + token + "]}"));
  EXPECT_OK(Tokenizer::FromJson(AsciiTokenizerJson(), R"({"additional_special_tokens": [{"content": "<eos>"}]})"));
}

TEST_F(ConfigTokensTest, SettingsThatGiveOtherTokensAreRefused) {
  ExpectRefused(R"({"split_special_tokens": true})",
                "/split_special_tokens is true: Transformers would not find special tokens in texts, and Reprise "
                "always does; remove it");
  EXPECT_OK(Tokenizer::FromJson(AsciiTokenizerJson(), R"({"split_special_tokens": false})"));
  ExpectRefused(R"({"add_prefix_space": true})",
                "/add_prefix_space is true, but false at /pre_tokenizer of tokenizer.json: Transformers 4 takes the "
                "former, Transformers 5 the latter; write in both what the model was trained with");
  Json json = Ascii();
  json["pre_tokenizer"]["add_prefix_space"] = true;
  ExpectRefused(R"({"add_prefix_space": false})", "/add_prefix_space is false, but true at /pre_tokenizer", json);
  EXPECT_OK(Tokenizer::FromJson(json.dump(), R"({"add_prefix_space": null})"));
  EXPECT_OK(Tokenizer::FromJson(json.dump(), R"({"add_prefix_space": true})"));
  Json sequence = Ascii();  // which neither version changes
  sequence["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {sequence["pre_tokenizer"]}}};
  EXPECT_OK(Tokenizer::FromJson(sequence.dump(), R"({"add_prefix_space": true})"));
  Write("tokenizer.json", json.dump());
  EXPECT_THAT(Tokenizer::FromDirectory(directory_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("/add_prefix_space is missing, which Transformers 4 reads as false, but true at")));
  Write("tokenizer_config.json", R"({"add_prefix_space": true})");
  EXPECT_OK(Tokenizer::FromDirectory(directory_));
}

TEST_F(ConfigTokensTest, ATokenThatOnlyAnOlderFileNamesIsRefusedWhereTransformersReadsIt) {
  for (const auto& [name, text, sentence] : std::vector<std::array<std::string, 3>>{
           {"special_tokens_map.json", R"({"additional_special_tokens": ["<x>"]})",
            "/additional_special_tokens/0: the token \"<x>\" is not in tokenizer.json"},
           {"special_tokens_map.json", R"({"pad_token": "a"})", "/pad_token: the token \"a\" is a word of the"},
           {"added_tokens.json", R"({"<eos>": 1, "<x>": 128})", "/<x>: the token \"<x>\" (id 128) is not in"},
           {"added_tokens.json", R"({"<eos>": 7})", "/<eos>: the token \"<eos>\" has the id 7, but in"}}) {
    SetUp();
    Write(name, text);
    EXPECT_THAT(Tokenizer::FromDirectory(directory_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(directory_ + "/" + name + ": " + sentence)));
    Write("tokenizer_config.json", R"({"eos_token": "<eos>"})");
    EXPECT_FALSE(Tokenizer::FromDirectory(directory_).ok()) << name;
    Write("tokenizer_config.json", R"({"added_tokens_decoder": {"1": {"content": "<eos>"}}})");
    EXPECT_OK(Tokenizer::FromDirectory(directory_)) << name;
  }
}

// Transformers adds the tokens of added_tokens.json with the next ids, or leaves out one whose id another token has:
// its command would not write tokenizer.json with the ids of the file.
TEST_F(ConfigTokensTest, TheCommandIsNamedOnlyForIdsThatItWrites) {
  const std::string command = "write tokenizer.json anew, with python3";
  Write("added_tokens.json", R"({"<y>": 129, "<x>": 128})");
  EXPECT_THAT(Tokenizer::FromDirectory(directory_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::AllOf(HasSubstr("/<x>: the token \"<x>\" (id 128)"), HasSubstr(command))));
  for (const std::string id : {"1", "97", "129", "500"}) {
    Write("added_tokens.json", "{\"<x>\": " + id + "}");
    EXPECT_THAT(Tokenizer::FromDirectory(directory_),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("/<x>: the token \"<x>\" (id " + id +
                                   ") is not in tokenizer.json, and Transformers would not give it that id, but 128, "
                                   "the next that is free, or leave it out; remove it, or list a token for each id "
                                   "from 128 to that with which the model was trained in the added_tokens of "
                                   "tokenizer.json, and write that id here too")));
  }
  Json json = Ascii();  // the remedy
  for (const int id : {128, 129}) {
    Json token = json["added_tokens"][0];
    token["id"] = id;
    token["content"] = id == 128 ? "<hole>" : "<x>";
    json["added_tokens"].push_back(token);
  }
  Write("tokenizer.json", json.dump());
  Write("added_tokens.json", R"({"<x>": 129})");
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromDirectory(directory_));
  EXPECT_THAT(*tokenizer.Encode("<x>"), ElementsAre(129));
}

}  // namespace
}  // namespace reprise::models
