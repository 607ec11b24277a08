#include "models/olmoe/end_tokens.h"

#include <filesystem>

#include "core/io/atomic_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/olmoe/special_tokens_map.h"
#include "models/tokenizer/ascii_tokenizer.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EndTokensTest : public ::testing::Test {
 protected:
  EndTokensTest() : directory_(::testing::TempDir() + "/end_tokens_test") {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }

  absl::StatusOr<std::vector<int32_t>> Read(std::vector<int32_t> of_config,
                                            const std::string& tokenizer_config = "{}") {
    DecoderConfig config;
    config.eos_token_id = std::move(of_config);
    return EndTokens(directory_, config, *Tokenizer::FromJson(AsciiTokenizerJson(), tokenizer_config));
  }
  void WriteGenerationConfig(const std::string& text) { Write("generation_config.json", text); }
  void Write(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::filesystem::remove(path);
    ASSERT_OK(WriteFileAtomically(PosixFileSystem(), path, text));
  }

  const std::string directory_;
};

TEST_F(EndTokensTest, AreThoseOfAllFilesEachOnce) {
  WriteGenerationConfig(R"({"eos_token_id": [0, 100]})");
  EXPECT_THAT(*Read({0}), ElementsAre(0, 100));
  WriteGenerationConfig(R"({"eos_token_id": 100})");
  EXPECT_THAT(*Read({7, 0}), ElementsAre(7, 0, 100));
  EXPECT_THAT(*Read({}), ElementsAre(100));
  WriteGenerationConfig(R"({"eos_token_id": null, "temperature": 0.7})");
  EXPECT_THAT(*Read({7}), ElementsAre(7));
  std::filesystem::remove(directory_ + "/generation_config.json");
  EXPECT_THAT(*Read({7}), ElementsAre(7));
  EXPECT_THAT(*Read({}), IsEmpty());
}

// A written text, such as an answer to learn, is ended as the tokenizer's chat template and TRL end it.
TEST_F(EndTokensTest, BeginWithThatOfTheTokenizer) {
  WriteGenerationConfig(R"({"eos_token_id": [0, 1]})");
  EXPECT_THAT(*Read({0}, R"({"eos_token": "<eos>"})"), ElementsAre(1, 0));
}

TEST_F(EndTokensTest, EndWithThatOfTheSpecialTokensMap) {
  Write("special_tokens_map.json", R"({"eos_token": {"content": "<eos>", "lstrip": false}, "pad_token": "<eos>"})");
  EXPECT_THAT(*Read({}), ElementsAre(1));
  WriteGenerationConfig(R"({"eos_token_id": [0, 7]})");
  EXPECT_THAT(*Read({5}), ElementsAre(5, 0, 7, 1));
  EXPECT_FALSE(ReadSpecialTokensMap(directory_)->empty());
  Write("tokenizer_config.json", R"({"eos_token": "<eos>"})");
  EXPECT_EQ(*ReadSpecialTokensMap(directory_), "") << "it adds nothing";
  EXPECT_EQ(*ReadSpecialTokensMap(""), "");
  Write("special_tokens_map.json", R"({"eos_token": "<none>"})");
  EXPECT_THAT(Read({5}), StatusIs(absl::StatusCode::kInvalidArgument,
                                  directory_ + "/special_tokens_map.json: /eos_token: the token \"<none>\" is "
                                               "not in tokenizer.json, so it cannot end a text; name one that is, or "
                                               "remove it"));
}

// Else completions would go on after these tokens, without a word.
TEST_F(EndTokensTest, AFileThatWasLostIsNotTakenForOneThatNeverWas) {
  for (const std::string name : {"generation_config.json", "special_tokens_map.json"}) {
    const std::string path = directory_ + "/" + name;
    Write(name, "");
    EXPECT_THAT(Read({0}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path + " is empty, as a download")));
    std::filesystem::remove(path);
    std::filesystem::create_symlink("../blobs/ab12", path);
    EXPECT_THAT(Read({0}),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr(path + ": it is a symbolic link to ../blobs/ab12, which does not exist")));
    std::filesystem::remove(path);
  }
}

TEST_F(EndTokensTest, AreInTheModelsVocabulary) {
  WriteGenerationConfig(R"({"eos_token_id": [0, 128]})");
  EXPECT_THAT(Read({0}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       directory_ + "/generation_config.json: /eos_token_id/1: expected an integer from 0 to "
                                    "127, found 128"));
  WriteGenerationConfig("version https://git-lfs.github.com/spec/v1\n");
  EXPECT_THAT(Read({0}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a pointer of Git LFS")));
}

}  // namespace
}  // namespace reprise::models
