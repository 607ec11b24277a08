#include "models/tokenizer/tokenizer_config.h"

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
