#include "models/tokenizer/ascii_tokenizer.h"

#include <string>

#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/tokenizer.h"

namespace reprise::models {
namespace {

TEST(AsciiTokenizerTest, IsTheFileThatTheGoldenModelsShip) {
  for (const std::string& model : testing::GoldenModels()) {
    const std::string path = testing::GoldensDirectory() + "/models/" + model + "/tokenizer.json";
    ASSERT_OK_AND_ASSIGN(const std::string golden, ReadFile(PosixFileSystem(), path, 1 << 24));
    ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromJson(golden));
    if (tokenizer.vocab_size() == 128 && tokenizer.TokenToId("<eos>") == 1) {
      EXPECT_EQ(AsciiTokenizerJson(), golden);
    }
  }
}

TEST(AsciiTokenizerTest, AnIdIsAnAsciiCode) {
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromJson(AsciiTokenizerJson()));
  for (int32_t code = 3; code < 128; ++code) {
    const std::string text(1, static_cast<char>(code));
    EXPECT_EQ(*tokenizer.Encode(text), std::vector<int32_t>{code});
    EXPECT_EQ(tokenizer.Decode({code}), text);
  }
  EXPECT_EQ(tokenizer.TokenToId("<pad>"), 0);
  EXPECT_EQ(tokenizer.TokenToId("<eos>"), 1);
  EXPECT_EQ(tokenizer.TokenToId("<bos>"), 2);
}

TEST(AsciiTokenizerTest, AWordIsOneTokenWhereNoLongerOneBegins) {
  const std::vector<std::string> words = {"left", ",\"left_meters\":", "lefts"};
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromJson(AsciiTokenizerJson(128, words)));
  EXPECT_EQ(tokenizer.vocab_size(), 131);
  const std::string text = "left 0,\"left_meters\":lefts lef";
  EXPECT_EQ(*tokenizer.Encode(text), (std::vector<int32_t>{128, ' ', '0', 129, 130, ' ', 'l', 'e', 'f'}));
  EXPECT_EQ(tokenizer.Decode(*tokenizer.Encode(text), Tokenizer::SpecialTokens::kSkip), text);
}

TEST(AsciiTokenizerTest, AllBytesServeAnyText) {
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromJson(AsciiTokenizerJson(256)));
  EXPECT_EQ(tokenizer.Decode(*tokenizer.Encode("caf\u00e9 \u4e2d")), "caf\u00e9 \u4e2d");
}

}  // namespace
}  // namespace reprise::models
