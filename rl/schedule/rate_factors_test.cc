#include "rl/schedule/rate_factors.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

std::vector<RateFactor> Parsed(const std::string& json) {
  const absl::StatusOr<std::vector<RateFactor>> factors = ParseRateFactors(json);
  EXPECT_OK(factors.status());
  return factors.ok() ? *factors : std::vector<RateFactor>();
}

double FindFactor(const std::string& pattern, absl::string_view name) {
  return FindRateFactor(name, {{RateFactor{pattern, 7}}});
}

TEST(RateFactorsTest, AnAsteriskStandsForAnyText) {
  for (const char* matching :
       {"a.b.c", "*", "a.*", "*.c", "a*c", "*b*", "a.b.c*", "*a.b.c", "a*.*c", "*.*.*", "a**c"}) {
    EXPECT_EQ(FindFactor(matching, "a.b.c"), 7) << matching;
  }
  for (const char* other : {"", "a.b", "b.c", "a.*.b", "*d*", "a.b.c.d", "*b", "b*", "a.b.*b.c", "*.*.*.*", "A.b.c"}) {
    EXPECT_EQ(FindFactor(other, "a.b.c"), 1) << other;
  }
  EXPECT_EQ(FindFactor("aba*aba", "ababa"), 1) << "the ends must not overlap";
  EXPECT_EQ(FindFactor("*ab*b", "abab"), 7);
}

TEST(RateFactorsTest, TheFirstPatternThatMatchesDecides) {
  const std::vector<RateFactor> factors = Parsed(R"({"v_head.bias": 0, "v_head.*": 10, "*.bias": 0.5})");
  EXPECT_EQ(FindRateFactor("v_head.bias", factors), 0);
  EXPECT_EQ(FindRateFactor("v_head.weight", factors), 10);
  EXPECT_EQ(FindRateFactor("lm_head.bias", factors), 0.5);
  EXPECT_EQ(FindRateFactor("lm_head.weight", factors), 1);
  EXPECT_EQ(FindRateFactor("lm_head.weight", Parsed("")), 1);
}

TEST(RateFactorsTest, RejectsWhatIsNoObjectOfFactors) {
  for (const char* json : {"3", "[]", "{", R"({"a": "b"})", R"({"a": 1, "a": 2})"}) {
    EXPECT_THAT(ParseRateFactors(json), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_)) << json;
  }
  for (const char* json : {R"({"a": -1})", R"({"a": 1001})"}) {
    EXPECT_THAT(ParseRateFactors(json), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/a: "))) << json;
  }
}

TEST(RateFactorsTest, RejectsAPatternThatDecidesAboutNothing) {
  const std::vector<std::string> names = {"a.weight", "a.bias", "b.weight"};
  EXPECT_OK(CheckEachDecides(Parsed(R"({"a.weight": 2, "*.weight": 3, "*": 4})"), names));
  EXPECT_THAT(CheckEachDecides(Parsed(R"({"a.*": 2, "c.*": 3})"), names),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "\"c.*\" matches no trained tensor; they are a.weight, a.bias, b.weight"));
  EXPECT_THAT(
      CheckEachDecides(Parsed(R"({"a.*": 2, "a.bias": 3})"), names),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"a.bias\" matches only tensors that an earlier")));
}

}  // namespace
}  // namespace reprise::rl
