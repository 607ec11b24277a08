#include "core/config/field_list.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::config {
namespace {

using ::reprise::testing::StatusIs;

enum class Order { kExact, kFast };

struct Everything {
  bool flag = false;
  int64_t count = 3;
  double rate = 0.5;
  std::string path;
  std::string loss = "dapo";
  std::string losses = "dapo";
  double other_rate = 1;
  Order order = Order::kExact;
};

FieldList FieldsOf(Everything& all) {
  FieldList list;
  list.Section("first", Kind::kSemantic, "The first.");
  list.Bool("flag", all.flag, "A flag.");
  list.Int("count", all.count, Between(2, 10), "A count.");
  list.Double("rate", all.rate, {.low = -1, .high = 1}, "A rate.");
  list.String("path", all.path, "A path.");
  list.Name("loss", all.loss, {"dapo", "grpo", "dr_grpo"}, "A name.");
  list.Names("losses", all.losses, {"dapo", "grpo"}, "Names.");
  list.Name("order", all.order, {"exact", "fast"}, "An order.");
  list.Section("second", Kind::kExecution, "The second.");
  list.Double("rate", all.other_rate, {}, "Another rate.");
  return list;
}

absl::Status Set(Everything& all, absl::string_view key, const Value& value) {
  return FieldsOf(all).Find("first", key)->Set(value);
}

TEST(FieldTest, StoresAndReturnsValuesOfItsType) {
  Everything all;
  EXPECT_OK(Set(all, "flag", true));
  EXPECT_OK(Set(all, "count", int64_t{10}));
  EXPECT_OK(Set(all, "rate", -0.25));
  EXPECT_OK(Set(all, "path", std::string("a b")));
  EXPECT_OK(Set(all, "loss", std::string("grpo")));
  EXPECT_TRUE(all.flag);
  EXPECT_EQ(all.count, 10);
  EXPECT_EQ(all.rate, -0.25);
  EXPECT_EQ(all.path, "a b");
  EXPECT_EQ(all.loss, "grpo");
  EXPECT_EQ(FieldsOf(all).Find("first", "count")->Get(), Value(int64_t{10}));
}

TEST(FieldTest, StoresOneOrMoreNames) {
  Everything all;
  EXPECT_OK(Set(all, "losses", std::string("grpo dapo")));
  EXPECT_EQ(all.losses, "grpo dapo");
  for (const char* text : {"", "grpo  dapo", "grpo dap", "grpo,dapo"}) {
    EXPECT_THAT(Set(all, "losses", std::string(text)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::HasSubstr("; expected one or more of \"dapo\" or \"grpo\"")));
  }
  EXPECT_EQ(all.losses, "grpo dapo");
  EXPECT_EQ(FieldsOf(all).Find("first", "losses")->TypeText(), "names");
}

TEST(FieldTest, StoresAnEnumerationByItsNames) {
  Everything all;
  EXPECT_OK(Set(all, "order", std::string("fast")));
  EXPECT_EQ(all.order, Order::kFast);
  EXPECT_EQ(FieldsOf(all).Find("first", "order")->Get(), Value(std::string("fast")));
  EXPECT_THAT(Set(all, "order", std::string("quick")),
              StatusIs(absl::StatusCode::kInvalidArgument, "first.order is \"quick\"; expected \"exact\" or \"fast\""));
  EXPECT_FALSE(Set(all, "order", int64_t{0}).ok());
  EXPECT_EQ(all.order, Order::kFast);
}

TEST(FieldTest, AcceptsAWholeNumberForANumberButNotTheReverse) {
  Everything all;
  EXPECT_OK(Set(all, "rate", int64_t{1}));
  EXPECT_EQ(all.rate, 1.0);
  EXPECT_THAT(Set(all, "count", 3.0),
              StatusIs(absl::StatusCode::kInvalidArgument, "first.count is 3.0; expected a whole number: write 3"));
}

TEST(FieldTest, NamesTheExpectedTypeInTheErrorForAnotherType) {
  Everything all;
  const auto message = [&](absl::string_view key, const Value& value) {
    return std::string(Set(all, key, value).message());
  };
  EXPECT_EQ(message("flag", int64_t{1}), "first.flag is 1; expected true or false");
  EXPECT_EQ(message("rate", std::string("hot")), "first.rate is \"hot\"; expected a number");
  EXPECT_EQ(message("rate", true), "first.rate is true; expected a number");
  EXPECT_EQ(message("path", 1.5), "first.path is 1.5; expected text in quotes");
  EXPECT_EQ(message("loss", int64_t{1}), "first.loss is 1; expected \"dapo\", \"grpo\" or \"dr_grpo\"");
}

TEST(FieldTest, RefusesOutOfRangeValuesAndKeepsItsValue) {
  Everything all;
  EXPECT_THAT(Set(all, "count", int64_t{1}),
              StatusIs(absl::StatusCode::kInvalidArgument, "first.count is 1; expected 2 to 10"));
  EXPECT_THAT(Set(all, "rate", 1.5),
              StatusIs(absl::StatusCode::kInvalidArgument, "first.rate is 1.5; expected -1 to 1"));
  EXPECT_THAT(Set(all, "loss", std::string("ppo")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "first.loss is \"ppo\"; expected \"dapo\", \"grpo\" or \"dr_grpo\""));
  EXPECT_EQ(all.count, 3);
  EXPECT_EQ(all.rate, 0.5);
  EXPECT_EQ(all.loss, "dapo");
}

TEST(FieldTest, RefusesNotANumberAndInfinityEvenWithoutARange) {
  Everything all;
  const FieldList list = FieldsOf(all);
  const Field* rate = list.Find("second", "rate");
  EXPECT_THAT(rate->Set(std::numeric_limits<double>::quiet_NaN()),
              StatusIs(absl::StatusCode::kInvalidArgument, "second.rate is nan; expected a finite number"));
  EXPECT_THAT(list.Find("second", "rate")->Set(-1e-310),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "second.rate is -1e-310; expected 0 or a number of 2.3e-308 or more in magnitude"));
  EXPECT_THAT(rate->Set(-std::numeric_limits<double>::infinity()),
              StatusIs(absl::StatusCode::kInvalidArgument, "second.rate is -inf; expected a finite number"));
}

TEST(FieldTest, StoresMinusZeroAsZero) {
  Everything all;
  EXPECT_OK(Set(all, "rate", -0.0));
  EXPECT_FALSE(std::signbit(all.rate));
}

TEST(FieldListTest, TakesTheKindFromTheSection) {
  Everything all;
  const FieldList list = FieldsOf(all);
  EXPECT_EQ(list.Find("first", "rate")->kind, Kind::kSemantic);
  EXPECT_EQ(list.Find("second", "rate")->kind, Kind::kExecution);
  EXPECT_EQ(list.Find("second", "flag"), nullptr);
}

TEST(FieldListTest, AdvisesTheKeyThatOtherProgramsCallByThatName) {
  Everything all;
  FieldList list = FieldsOf(all);
  list.AlsoCalled({{"flags", "second.rate"}, {"go_on", "--resume"}});
  EXPECT_EQ(list.UnknownKey("first", "flags").message(), "unknown key first.flags; did you mean second.rate?");
  EXPECT_EQ(list.NamesOfKey("go_on"), "--resume");
  EXPECT_DEATH(list.AlsoCalled({{"flags", "second.count"}}), "");
}

TEST(FieldListTest, AdvisesTheNearestKeyOrTheSectionsThatHaveTheKey) {
  Everything all;
  const FieldList list = FieldsOf(all);
  EXPECT_EQ(list.UnknownKey("first", "cuont").message(), "unknown key first.cuont; did you mean first.count?");
  EXPECT_EQ(list.UnknownKey("second", "flag").message(), "unknown key second.flag; did you mean first.flag?");
  EXPECT_EQ(list.UnknownKey("second", "zzz").message(), "unknown key second.zzz");
  EXPECT_EQ(list.UnknownSection("frist").message(), "unknown section frist; did you mean first?");
  EXPECT_EQ(list.UnknownSection("zzz").message(), "unknown section zzz");
  EXPECT_EQ(list.NamesOfKey("rate"), "first.rate or second.rate");
}

TEST(FieldListDeathTest, ListsEachSectionAndKeyOnce) {
  Everything all;
  FieldList list = FieldsOf(all);
  EXPECT_DEATH(list.Section("first", Kind::kSemantic, ""), "HasSection");
  EXPECT_DEATH(list.Bool("rate", all.flag, ""), "key != key .rate vs. rate");
  EXPECT_DEATH(FieldList().Bool("flag", all.flag, ""), "sections_");
}

struct Tools {
  std::string tool = "hammer";
  int64_t weight = 1, teeth = 2, edges = 3;
};

FieldList ToolFields(Tools& tools) {
  FieldList list;
  list.Section("tools", Kind::kSemantic, "Tools.");
  list.Name("tool", tools.tool, {"hammer", "saw", "none"}, "A tool.");
  list.Int("weight", tools.weight, {}, "Its weight.").ReadIf([&] { return tools.tool == "hammer"; }, "tool hammer");
  list.WhereRead(
      [&] { return tools.tool == "saw"; }, "tool saw",
      [&] {
        list.Int("teeth", tools.teeth, {}, "Its teeth.").ReadIf([&] { return tools.edges > 0; }, "edges above 0");
      });
  list.Int("edges", tools.edges, {}, "Edges.");
  return list;
}

std::string Needs(const FieldList& list, absl::string_view key) {
  const Condition* const unmet = list.Find("tools", key)->FirstUnmet();
  return unmet == nullptr ? "" : unmet->needs;
}

TEST(ConditionTest, AKeyIsReadWhereAllOfItsConditionsHoldAndNamesTheFirstThatDoesNot) {
  Tools tools;
  const FieldList list = ToolFields(tools);
  EXPECT_EQ(Needs(list, "weight"), "");
  EXPECT_EQ(Needs(list, "teeth"), "tool saw");
  EXPECT_EQ(Needs(list, "edges"), "");
  tools.tool = "saw";
  EXPECT_EQ(Needs(list, "weight"), "tool hammer");
  EXPECT_EQ(Needs(list, "teeth"), "");
  tools.edges = 0;
  EXPECT_EQ(Needs(list, "teeth"), "edges above 0");
}

TEST(ConditionTest, AKeysOwnScopeTakesThePlaceOfItsSections) {
  Tools tools;
  FieldList list;
  list.Section("first", Kind::kSemantic, "Tools.").OnlyFor({.holds = [&] { return tools.weight > 1; }, .needs = "two"});
  list.Int("teeth", tools.teeth, {}, "Teeth.");
  list.Int("edges", tools.edges, {}, "Edges.").OnlyFor({.holds = [&] { return tools.weight > 2; }, .needs = "three"});
  list.Section("second", Kind::kSemantic, "Others.");
  list.Name("tool", tools.tool, {"hammer", "saw", "none"}, "A tool.");
  const auto scopes = [&] {
    return std::vector<bool>{list.Find("first", "teeth")->IsInScope(), list.Find("first", "edges")->IsInScope(),
                             list.Find("second", "tool")->IsInScope()};
  };
  EXPECT_EQ(scopes(), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(list.Find("first", "edges")->FirstUnmet()->needs, "three");
  tools.weight = 2;
  EXPECT_EQ(scopes(), (std::vector<bool>{true, false, true}));
  tools.weight = 3;
  EXPECT_EQ(scopes(), (std::vector<bool>{true, true, true}));
}

}  // namespace
}  // namespace reprise::config
