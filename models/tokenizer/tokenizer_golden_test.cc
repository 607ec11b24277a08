// Tests every case of the golden tokenizers and of testdata/tokenizers.json, which Hugging Face's tokenizers produced.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"

namespace reprise::models {
namespace {

using Json = nlohmann::json;
using Special = Tokenizer::SpecialTokens;

Json ReadJson(const std::filesystem::path& path) { return Json::parse(std::ifstream(path)); }

// Returns tokenizer.json with the renamed entries and added tokens that the cases' "patch" lists.
Json Patched(Json tokenizer, const Json& patch) {
  Json& vocabulary = tokenizer["model"]["vocab"];
  for (const auto& [old_name, renamed] : patch["rename_vocab"].items()) {
    vocabulary.erase(old_name);
    vocabulary[renamed[0].get<std::string>()] = renamed[1];
  }
  std::map<int, Json> added;
  for (const Json& token : tokenizer["added_tokens"]) added[token["id"]] = token;
  for (const Json& token : patch["added_tokens"]) added[token["id"]] = token;
  tokenizer["added_tokens"] = Json::array();
  for (const auto& [id, token] : added) tokenizer["added_tokens"].push_back(token);
  return tokenizer;
}

void ExpectDecodes(const Tokenizer& tokenizer, const Json& expected) {
  const std::vector<int32_t> ids = expected["ids"];
  EXPECT_EQ(tokenizer.Decode(ids), expected["decoded"].get<std::string>());
  if (!expected.contains("decoded_skip_special")) return;
  EXPECT_EQ(tokenizer.Decode(ids, Special::kSkip), expected["decoded_skip_special"].get<std::string>());
}

TEST(TokenizerGoldenTest, EveryCaseIsExact) {
  const std::filesystem::path root = testing::GoldensDirectory();
  const Json tokenizer_json = ReadJson(root / "tokenizer/tokenizer.json");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("tokenizer_") || entry.path().extension() != ".json") continue;
    SCOPED_TRACE(name);
    const Json cases = ReadJson(entry.path());
    const Json source = cases.contains("patch") ? Patched(tokenizer_json, cases["patch"]) : tokenizer_json;
    ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromJson(source.dump()));
    ASSERT_GT(cases["cases"].size(), 0u);
    for (const Json& expected : cases["cases"]) {
      const std::string text = expected["text"];
      SCOPED_TRACE(text);
      ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> ids, tokenizer.Encode(text));
      EXPECT_EQ(ids, expected["ids"].get<std::vector<int32_t>>());
      ExpectDecodes(tokenizer, expected);
    }
    for (const Json& expected : cases.value("decode_only", Json::array())) ExpectDecodes(tokenizer, expected);
    ++files;
  }
  EXPECT_GT(files, 0);
}

// Normalizers, pre-tokenizers, post-processors, models and added tokens as files have them.
TEST(TokenizerGoldenTest, EveryFileGivesTheSameTokensAsInTokenizers) {
  const Json data = ReadJson("models/tokenizer/testdata/tokenizers.json");
  const std::vector<std::string> texts = data["texts"];
  ASSERT_GT(data["files"].size(), 0u);
  for (const Json& file : data["files"]) {
    SCOPED_TRACE(file["name"]);
    Json source = data["base"];
    source.merge_patch(file["patch"]);
    const absl::StatusOr<Tokenizer> tokenizer = Tokenizer::FromJson(source.dump());
    EXPECT_OK(tokenizer);
    if (!tokenizer.ok()) continue;
    ASSERT_EQ(file["ids"].size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      SCOPED_TRACE(texts[i]);
      const std::vector<int32_t> ids = file["ids"][i];
      const absl::StatusOr<std::vector<int32_t>> encoded = tokenizer->Encode(texts[i]);
      EXPECT_OK(encoded);
      if (encoded.ok()) {
        EXPECT_EQ(*encoded, ids);
      }
      EXPECT_EQ(tokenizer->Decode(ids),
                file["decoded"][i].is_null() ? texts[i] : file["decoded"][i].get<std::string>());
    }
  }
}

}  // namespace
}  // namespace reprise::models
