#include "core/config/field.h"

#include <limits>
#include <optional>
#include <string>

#include "core/config/field_list.h"
#include "gtest/gtest.h"

namespace reprise::config {
namespace {

TEST(IntRangeTest, IncludesItsBounds) {
  EXPECT_TRUE(Between(2, 4).Contains(2));
  EXPECT_TRUE(Between(2, 4).Contains(4));
  EXPECT_FALSE(Between(2, 4).Contains(1));
  EXPECT_FALSE(Between(2, 4).Contains(5));
  EXPECT_TRUE(AtLeast(0).Contains(std::numeric_limits<int64_t>::max()));
  EXPECT_TRUE(IntRange{}.Contains(std::numeric_limits<int64_t>::min()));
}

TEST(IntRangeTest, CanBeLimitedToPowersOfTwo) {
  for (int64_t value : {1, 2, 4, 1024}) EXPECT_TRUE(PowersOfTwo(1, 1024).Contains(value)) << value;
  for (int64_t value : {-2, 0, 3, 1023, 2048}) EXPECT_FALSE(PowersOfTwo(1, 1024).Contains(value)) << value;
}

TEST(IntRangeTest, ReadsAsEnglish) {
  EXPECT_EQ(Between(2, 65536).Text(), "2 to 65536");
  EXPECT_EQ(AtLeast(0).Text(), "0 or more");
  EXPECT_EQ((IntRange{.high = 3}.Text()), "at most 3");
  EXPECT_EQ(PowersOfTwo(1, 1024).Text(), "a power of two from 1 to 1024");
  EXPECT_EQ(IntRange{}.Text(), "any whole number");
}

TEST(DoubleRangeTest, ExcludesOpenBounds) {
  const DoubleRange open = {.low = 0, .high = 1, .without_low = true, .without_high = true};
  EXPECT_FALSE(open.Contains(0));
  EXPECT_FALSE(open.Contains(1));
  EXPECT_TRUE(open.Contains(std::numeric_limits<double>::denorm_min()));
  const DoubleRange closed = {.low = 0, .high = 1};
  EXPECT_TRUE(closed.Contains(0));
  EXPECT_TRUE(closed.Contains(1));
  EXPECT_FALSE(closed.Contains(1.0000000000000002));
}

TEST(DoubleRangeTest, AllowsOneExtraValueOutsideItsBounds) {
  const DoubleRange range = {.low = 0, .or_exactly = -1};
  EXPECT_TRUE(range.Contains(-1));
  EXPECT_FALSE(range.Contains(-0.5));
}

TEST(DoubleRangeTest, NeverContainsNonFiniteValues) {
  EXPECT_FALSE(DoubleRange{}.Contains(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(DoubleRange{}.Contains(-std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(DoubleRange{}.Contains(std::numeric_limits<double>::quiet_NaN()));
}

TEST(DoubleRangeTest, ReadsAsEnglish) {
  EXPECT_EQ((DoubleRange{.low = 0, .high = 1}.Text()), "0 to 1");
  EXPECT_EQ((DoubleRange{.low = 0, .without_low = true}.Text()), "more than 0");
  EXPECT_EQ((DoubleRange{.low = 0, .or_exactly = -1}.Text()), "0 or more, or -1");
  EXPECT_EQ((DoubleRange{.low = 0, .high = 1, .without_high = true}.Text()), "0 or more, less than 1");
  EXPECT_EQ((DoubleRange{.low = 0, .high = 1, .without_low = true}.Text()), "more than 0, at most 1");
  EXPECT_EQ((DoubleRange{.high = 0.5}.Text()), "at most 0.5");
  EXPECT_EQ(DoubleRange{}.Text(), "any number");
}

// Lists one key of each kind of value that may be absent.
struct Absent {
  std::optional<double> delta;
  std::optional<Interval> range = Interval(-1, 1);
};

FieldList ListAbsent(Absent& absent) {
  FieldList list;
  list.Section("s", Kind::kSemantic, "A section.");
  list.Double("delta", absent.delta, {.low = 1, .without_low = true}, "A number.");
  list.Range("range", absent.range, "An interval.");
  return list;
}

TEST(FieldTest, ANumberMayBeAbsent) {
  Absent absent;
  const FieldList list = ListAbsent(absent);
  const Field& delta = *list.Find("s", "delta");
  EXPECT_EQ(delta.Get(), Value(std::string("none")));
  ASSERT_EQ(delta.Set(int64_t{2}), absl::OkStatus());
  EXPECT_EQ(absent.delta, 2.0);
  EXPECT_EQ(delta.Get(), Value(2.0));
  ASSERT_EQ(delta.Set(std::string("none")), absl::OkStatus());
  EXPECT_EQ(absent.delta, std::nullopt);
  EXPECT_EQ(delta.Set(1.0).message(), "s.delta is 1.0; expected more than 1, or \"none\"");
  EXPECT_EQ(delta.Set(std::string("no")).message(), "s.delta is \"no\"; expected a number or \"none\"");
}

TEST(FieldTest, AnIntervalIsTwoNumbersInOrderOrAbsent) {
  Absent absent;
  const FieldList list = ListAbsent(absent);
  const Field& range = *list.Find("s", "range");
  ASSERT_EQ(range.Set(std::string("-5  2.5")), absl::OkStatus());
  EXPECT_EQ(absent.range, Interval(-5, 2.5));
  EXPECT_EQ(range.Get(), Value(std::string("-5 2.5")));
  ASSERT_EQ(range.Set(std::string("-0 1")), absl::OkStatus());
  EXPECT_EQ(range.Get(), Value(std::string("0 1"))) << "equal values have one text";
  for (const std::string wrong : {"5 -5", "1", "1 2 3", "a b", "1 inf", "", "1e-320 1", "-1e300 1"}) {
    EXPECT_EQ(range.Set(wrong).message(),
              "s.range is " + Quoted(wrong) + "; expected two numbers, the lower one first, as \"-5 5\", or \"none\"");
  }
  ASSERT_EQ(range.Set(std::string("none")), absl::OkStatus());
  EXPECT_EQ(absent.range, std::nullopt);
}

}  // namespace
}  // namespace reprise::config
