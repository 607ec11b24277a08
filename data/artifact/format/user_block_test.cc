#include "data/artifact/format/user_block.h"

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::internal {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

UserBlock Block() { return {.body_bytes = 4, .body_digest = Sha256("body"), .run_digest = Sha256("run")}; }
std::string File() { return EncodeUserBlock(Block()) + "body"; }

// Returns `file` with the first occurrence of `from` changed to `to`, and with a block digest that matches.
std::string Forged(std::string file, absl::string_view from, absl::string_view to) {
  file.replace(absl::string_view(file).find(from), from.size(), to.data(), to.size());
  const std::string proof = ToHex(Sha256(absl::string_view(file).substr(0, 434)));
  return file.replace(447, 64, proof);
}

TEST(UserBlockTest, IsTheTextOfTheFormat) {
  const std::string block = EncodeUserBlock(Block());
  ASSERT_EQ(block.size(), 512u);
  const std::string text = absl::StrCat("reprise run\nformat 1\nnumeric_contract 1\nbody_bytes 4\nbody_sha256 ",
                                        ToHex(Sha256("body")), "\nrun_digest ", ToHex(Sha256("run")), "\n");
  const std::string padded = text + std::string(433 - text.size(), ' ') + "\n";
  EXPECT_EQ(block, absl::StrCat(padded, "block_sha256 ", ToHex(Sha256(padded)), "\n"));
}

TEST(UserBlockTest, ReadsWhatItWrote) {
  ASSERT_OK_AND_ASSIGN(const UserBlock block, ParseUserBlock(File()));
  EXPECT_EQ(block.body_digest, Sha256("body"));
  EXPECT_EQ(block.run_digest, Sha256("run"));
}

TEST(UserBlockTest, RefusesEveryFlippedBit) {
  const std::string file = File();
  for (size_t bit = 0; bit < 512 * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    ASSERT_EQ(ParseUserBlock(damaged).status().code(), kDataLoss) << "bit " << bit;
  }
}

TEST(UserBlockTest, SaysWhatIsWrong) {
  EXPECT_THAT(ParseUserBlock("\x89HDF\r\n\x1a\n"), StatusIs(kDataLoss, HasSubstr("not a run file")));
  EXPECT_THAT(ParseUserBlock("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n"),
              StatusIs(kDataLoss, HasSubstr("not a run file: this is a pointer of Git LFS")));
  EXPECT_THAT(ParseUserBlock(""), StatusIs(kDataLoss, HasSubstr("truncated: it has 0 bytes")));
  EXPECT_THAT(ParseUserBlock(File().substr(0, 100)), StatusIs(kDataLoss, HasSubstr("truncated: it has 100 bytes")));
  EXPECT_THAT(ParseUserBlock(File().substr(0, 515)),
              StatusIs(kDataLoss, HasSubstr("truncated: it has 515 bytes instead of 516")));
  EXPECT_THAT(ParseUserBlock(File() + "x"), StatusIs(kDataLoss, HasSubstr("appended to: it has 517")));
  EXPECT_THAT(ParseUserBlock(Forged(File(), "   ", " x ")), StatusIs(kDataLoss, HasSubstr("hold more than")));
  EXPECT_THAT(ParseUserBlock(Forged(File(), "body_bytes 4", "body_bytes x")), StatusIs(kDataLoss, HasSubstr("\"x\"")));
  EXPECT_THAT(ParseUserBlock(Forged(File(), "run_digest", "run_digesT")),
              StatusIs(kDataLoss, HasSubstr("no line \"run_digest\"")));
}

TEST(UserBlockTest, NamesBothNumbersOfAnotherFormatOrNumericContract) {
  EXPECT_THAT(ParseUserBlock(Forged(File(), "format 1", "format 2")),
              StatusIs(absl::StatusCode::kUnimplemented, AllOf(HasSubstr("version 2"), HasSubstr("reads version 1"))));
  for (const char* other : {"0", "2"}) {
    EXPECT_THAT(ParseUserBlock(Forged(File(), "numeric_contract 1", absl::StrCat("numeric_contract ", other))),
                StatusIs(absl::StatusCode::kUnimplemented,
                         absl::StrCat("it has numeric contract ", other,
                                      "; this program reads contract 1: use the version of Reprise that wrote it, "
                                      "whose \"revision\" is in the run's execution.jsonl")));
  }
}

}  // namespace
}  // namespace reprise::internal
