#include "core/status/nearest_name.h"

#include <vector>

#include "gtest/gtest.h"

namespace reprise {
namespace {

const std::vector<absl::string_view> kKnown = {"grpo", "dapo", "dr_grpo", "exact_match"};

TEST(NearestNameTest, FindsTheNameWithTheFewestEdits) {
  EXPECT_EQ(NearestName("grop", kKnown), "grpo");  // neighbours swapped
  EXPECT_EQ(NearestName("drgrpo", kKnown), "dr_grpo");
  EXPECT_EQ(NearestName("exactmatch", kKnown), "exact_match");
  EXPECT_EQ(NearestName("dapo", kKnown), "dapo");
}

TEST(NearestNameTest, PrefersTheFirstAmongEquals) {
  const std::vector<absl::string_view> known = {"ab", "ac"};
  EXPECT_EQ(NearestName("ad", known), "ab");
}

TEST(NearestNameTest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(NearestName("reinforce", kKnown), "");
  EXPECT_EQ(NearestName("x", {}), "");
}

TEST(UnknownNameTest, NamesTheNearestAndAllOthers) {
  const absl::Status status = UnknownName("algorithm", "gprpo", kKnown);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "unknown algorithm \"gprpo\"; did you mean \"grpo\"? Known are: grpo, dapo, dr_grpo, exact_match");
  EXPECT_EQ(UnknownName("algorithm", "reinforce", kKnown).message(),
            "unknown algorithm \"reinforce\"; known are: grpo, dapo, dr_grpo, exact_match");
}

}  // namespace
}  // namespace reprise
