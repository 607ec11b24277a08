#include "core/config/print.h"

#include <string>
#include <vector>

#include "core/config/example_testing.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::config {
namespace {

rc::Gen<std::string> AnyAscii() {
  return rc::gen::container<std::string>(
      rc::gen::map(rc::gen::inRange(0, 128), [](int c) { return static_cast<char>(c); }));
}

TEST(PrintWithOriginsTest, ShowsEachValueAndItsOrigin) {
  Example example;
  Origins origins;
  ASSERT_OK(
      Resolve("[rollout]\ntemperature = 0.7\n", "grpo.toml", {"execution.threads=2"}, FieldsOf(example), origins));
  EXPECT_EQ(PrintWithOrigins(FieldsOf(example), origins),
            "[rollout]\n"
            "num_generations = 8  # default\n"
            "temperature = 0.7    # grpo.toml:2\n"
            "\n[algorithm]\n"
            "epsilon_high = -1.0   # default\n"
            "loss_type = \"dapo\"    # default\n"
            "path = \"\"             # default\n"
            "learning_rate = 1e-6  # default\n"
            "\n[execution]\n"
            "threads = 2                       # --set\n"
            "activation_checkpointing = false  # default\n");
}

TEST(CanonicalTextTest, ListsSemanticKeysSortedOnePerLine) {
  Example example;
  EXPECT_EQ(CanonicalText(FieldsOf(example)),
            "algorithm.epsilon_high = -1.0\n"
            "algorithm.learning_rate = 1e-6\n"
            "algorithm.loss_type = \"dapo\"\n"
            "algorithm.path = \"\"\n"
            "rollout.num_generations = 8\n"
            "rollout.temperature = 1.0\n");
}

TEST(CanonicalTextTest, DependsOnValuesAndNotOnHowTheyWereWritten) {
  Example a, b;
  Origins origins;
  ASSERT_OK(Resolve("[rollout]\ntemperature = 1\nnum_generations = 1_6\n[algorithm]\nepsilon_high = -0.0\n", "a", {},
                    FieldsOf(a), origins));
  ASSERT_OK(Resolve("algorithm = { epsilon_high = 0 }", "b", {"rollout.num_generations=0x10", "execution.threads=7"},
                    FieldsOf(b), origins));
  EXPECT_EQ(CanonicalText(FieldsOf(a)), CanonicalText(FieldsOf(b)));
}

TEST(CanonicalTextTest, HasTheKeysThatAreReadAtAnyValueAndNoOthers) {
  int64_t teeth = 0, edges = 0, weight = 0;
  bool is_saw = true;
  FieldList list;
  list.Section("saw", Kind::kSemantic, "A saw.").OnlyFor({.holds = [&] { return is_saw; }, .needs = "a saw"});
  list.Int("teeth", teeth, {}, "Its teeth.");
  list.Int("edges", edges, {}, "Its edges.").ReadIf([&] { return teeth > 0; }, "teeth");
  list.Section("any", Kind::kSemantic, "Any tool.");
  list.Int("weight", weight, {}, "Its weight.");
  EXPECT_EQ(CanonicalText(list), "any.weight = 0\nsaw.teeth = 0\n");
  teeth = 3;
  EXPECT_EQ(CanonicalText(list), "any.weight = 0\nsaw.edges = 0\nsaw.teeth = 3\n");
  is_saw = false;
  EXPECT_EQ(CanonicalText(list), "any.weight = 0\n");
}

TEST(ReferenceMarkdownTest, DocumentsEverySectionAndKey) {
  Example example;
  const std::string text = ReferenceMarkdown(FieldsOf(example));
  EXPECT_THAT(text, ::testing::StartsWith("## [rollout]\n\nHow completions are sampled.\n\n"
                                          "| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n"
                                          "| `num_generations` | a whole number | `8` | 2 to 65536 | Completions for "
                                          "each prompt. |\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("| `loss_type` | a name | `\"dapo\"` | \"dapo\", \"grpo\" or \"dr_grpo\" |"));
  EXPECT_THAT(text, ::testing::HasSubstr("| A file \\| a folder. |"));
  EXPECT_THAT(text, ::testing::HasSubstr("## [execution]\n\nHow the work is done. *Execution keys"));
}

TEST(ReferenceMarkdownTest, SaysOnceWhatAllKeysOfASectionNeedAndBesideAKeyWhatItNeeds) {
  bool is_wooden = false;
  int64_t teeth = 1, edges = 1;
  FieldList list;
  list.Section("saw", Kind::kSemantic, "A saw.").ReadIf([] { return true; }, "a workshop");
  list.Bool("is_wooden", is_wooden, "Whether it is wooden.");
  list.Int("teeth", teeth, {}, "Its teeth.").ReadIf([] { return false; }, "wood").ReadIf([] { return true; }, "time");
  list.Section("plane", Kind::kSemantic, "A plane.");
  list.Int("edges", edges, {}, "Its edges.");
  const std::string text = ReferenceMarkdown(list);
  EXPECT_THAT(text, ::testing::HasSubstr("A saw. *Needs a workshop.*\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("| Whether it is wooden. |\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("| Its teeth. *Needs wood; and time.* |\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("A plane.\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("| Its edges. |\n"));
}

// Returns arbitrary values within the ranges, text included.
Example AnyExample() {
  Example example;
  example.num_generations = *rc::gen::inRange<int64_t>(2, 65537);
  example.temperature = *rc::gen::positive<double>();
  example.epsilon_high = *rc::gen::nonNegative<double>();
  example.loss_type = *rc::gen::element<std::string>("dapo", "grpo", "dr_grpo");
  example.path = *AnyAscii();
  example.learning_rate = *rc::gen::nonNegative<double>();
  example.threads = *rc::gen::nonNegative<int64_t>();
  example.activation_checkpointing = *rc::gen::arbitrary<bool>();
  return example;
}

RC_GTEST_PROP(PrintTest, IsReadBackAsTheSameValues, ()) {
  Example printed = AnyExample(), read;
  Origins origins;
  for (const char* name : {"rollout.temperature", "algorithm.path"}) {
    origins[name] = *AnyAscii();
  }
  const std::string text = PrintWithOrigins(FieldsOf(printed), origins);
  const absl::Status status = Resolve(text, "printed.toml", {}, FieldsOf(read), origins);
  RC_ASSERT(status.ToString() == "OK");
  RC_ASSERT(read == printed);
}

RC_GTEST_PROP(CanonicalTextTest, IsReadBackAsItself, ()) {
  Example printed = AnyExample(), read;
  Origins origins;
  const std::string text = CanonicalText(FieldsOf(printed));
  const absl::Status status = Resolve(text, "canonical", {}, FieldsOf(read), origins);
  RC_ASSERT(status.ToString() == "OK");
  RC_ASSERT(CanonicalText(FieldsOf(read)) == text);
}

RC_GTEST_PROP(ResolveTest, SurvivesMutationsOfAValidFile, ()) {
  Example printed = AnyExample(), read;
  Origins origins;
  std::string text = PrintWithOrigins(FieldsOf(printed), origins);
  for (int edits = *rc::gen::inRange(1, 6); edits > 0; --edits) {
    const auto at = *rc::gen::inRange<size_t>(0, text.size());
    const auto length = *rc::gen::inRange<size_t>(0, 4);
    text.replace(at, length, *rc::gen::element<std::string>("", "=", ".", "\"", "[", "]", "\n", "9", "\xff", "e", "#"));
  }
  const absl::Status status = Resolve(text, "mutated.toml", {}, FieldsOf(read), origins);
  RC_ASSERT(status.ok() || status.code() == absl::StatusCode::kInvalidArgument);
  // Every accepted value is within its range.
  if (status.ok()) {
    const FieldList fields = FieldsOf(read);
    for (const Field& field : fields.fields()) RC_ASSERT(field.Set(field.Get()).ok());
  }
}

}  // namespace
}  // namespace reprise::config
