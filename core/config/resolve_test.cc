#include "core/config/resolve.h"

#include "core/config/example_testing.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::config {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::StartsWith;

std::string FileError(absl::string_view text) {
  Example example;
  Origins origins;
  const absl::Status status = Resolve(text, "grpo.toml", {}, FieldsOf(example), origins);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

std::string OverrideError(absl::string_view argument) {
  Example example;
  Origins origins;
  const absl::Status status = ApplyOverride(argument, FieldsOf(example), origins);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(ResolveTest, PrefersOverridesToTheFileAndTheFileToDefaults) {
  Example example;
  Origins origins;
  const std::string text = "[rollout]\nnum_generations = 4\ntemperature = 2\n";
  ASSERT_OK(Resolve(text, "grpo.toml", {"rollout.num_generations=16", "rollout.num_generations=32"}, FieldsOf(example),
                    origins));
  EXPECT_EQ(example, (Example{.num_generations = 32, .temperature = 2.0}));
  EXPECT_EQ(origins, (Origins{{"rollout.num_generations", "--set"}, {"rollout.temperature", "grpo.toml:3"}}));
}

TEST(ResolveTest, KeepsDefaultsWhenNothingIsSet) {
  Example example;
  Origins origins;
  ASSERT_OK(Resolve("", "grpo.toml", {}, FieldsOf(example), origins));
  EXPECT_EQ(example, Example());
  EXPECT_TRUE(origins.empty());
}

TEST(ResolveTest, UnsetKeysIgnoreTheirValuesInTheFile) {
  Example example;
  Origins origins;
  const std::string text = "[rollout]\nnum_generations = 4\ntemperature = 2\n[algorithm]\npath = \"a\"\n";
  ASSERT_OK(Resolve(text, "grpo.toml", {"rollout.num_generations=16"}, FieldsOf(example), origins,
                    {"rollout.num_generations", "rollout.temperature", "execution.threads"}));
  EXPECT_EQ(example, (Example{.num_generations = 16, .path = "a"}));
  EXPECT_EQ(origins, (Origins{{"rollout.num_generations", "--set"}, {"algorithm.path", "grpo.toml:5"}}));
  EXPECT_THAT(
      Resolve(text, "grpo.toml", {}, FieldsOf(example), origins, {"rollout.temprature"}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "--unset rollout.temprature: unknown key rollout.temprature; did you mean rollout.temperature?"));
}

TEST(ResolveTest, NamesUnknownKeysAndSectionsAndTheNearestKnownOnes) {
  EXPECT_EQ(FileError("[rollout]\nnum_generation = 4\n"),
            "grpo.toml:2:1: unknown key rollout.num_generation; did you mean rollout.num_generations?");
  EXPECT_EQ(FileError("\n[rollut]\n"), "grpo.toml:2:2: unknown section rollut; did you mean rollout?");
  EXPECT_EQ(FileError("[rollout]\nlearning_rate = 1\n"),
            "grpo.toml:2:1: unknown key rollout.learning_rate; did you mean algorithm.learning_rate?");
  EXPECT_EQ(FileError("[rollout.inner]\n"), "grpo.toml:1:10: unknown key rollout.inner");
}

TEST(ResolveTest, RefusesKeysOutsideSections) {
  EXPECT_EQ(FileError("threads = 1\n"),
            "grpo.toml:1:1: key threads is outside every section; did you mean execution.threads?");
  EXPECT_EQ(FileError("zzz = 1\n"), "grpo.toml:1:1: key zzz is outside every section");
  EXPECT_EQ(FileError("rollout = 1\n"),
            "grpo.toml:1:1: rollout is a section: write [rollout] once, and its keys below it");
  EXPECT_THAT(FileError("[[rollout]]\n"), StartsWith("grpo.toml:1:3: rollout is a section"));
}

TEST(ResolveTest, PointsAtTheValueThatIsWrong) {
  EXPECT_EQ(FileError("[rollout]\ntemperature = \"hot\"\n"),
            "grpo.toml:2:15: rollout.temperature is \"hot\"; expected a number");
  EXPECT_EQ(FileError("[rollout]\nnum_generations = 1\n"),
            "grpo.toml:2:19: rollout.num_generations is 1; expected 2 to 65536");
  EXPECT_EQ(FileError("[rollout]\nnum_generations = [8]\n"),
            "grpo.toml:2:19: rollout.num_generations is an array; expected a whole number");
  EXPECT_EQ(FileError("[rollout]\ntemperature = nan\n"),
            "grpo.toml:2:15: rollout.temperature is nan; expected a finite number");
}

TEST(ResolveTest, ReportsTheFirstPlaceThatIsWrong) {
  EXPECT_THAT(FileError("[rollout]\nzebra = 1\napple = 1\n"), StartsWith("grpo.toml:2:1: "));
}

// A preset sets both numbers; the sum can be read and written, too.
struct Numbers {
  size_t preset = 0;
  double a = 1, b = 1;
};

size_t GetPreset(const Numbers& numbers) { return numbers.preset; }
void SetPreset(size_t preset, Numbers* numbers) { *numbers = {preset, 10.0 * static_cast<double>(preset), 7}; }
double GetSum(const Numbers& numbers) { return numbers.a + numbers.b; }
void SetSum(double sum, Numbers* numbers) { numbers->a = sum - numbers->b; }

FieldList ListNumbers(Numbers& numbers) {
  FieldList list;
  list.Section("n", Kind::kSemantic, "Numbers.");
  list.Name("preset", Through<&GetPreset, &SetPreset>(numbers), {"zero", "ten"}, "Both.");
  list.Double("b", numbers.b, {}, "The second.");
  list.Double("sum", Through<&GetSum, &SetSum>(numbers), {}, "The sum.");
  return list;
}

TEST(ResolveTest, StoresInTheOrderOfListingSoThatAPresetComesBeforeWhatItSets) {
  Numbers numbers;
  Origins origins;
  const std::vector<std::string> overrides = {"n.sum=5", "n.preset=ten"};
  EXPECT_EQ(Resolve("[n]\nb = 3\n", "n.toml", overrides, ListNumbers(numbers), origins), absl::OkStatus());
  EXPECT_EQ(numbers.preset, 1u);
  EXPECT_EQ(numbers.b, 3);
  EXPECT_EQ(numbers.a, 2);
  EXPECT_EQ(origins, (Origins{{"n.b", "n.toml:2"}, {"n.preset", "--set"}, {"n.sum", "--set"}}));
}

TEST(ResolveTest, StoresNothingWhereAnOverrideIsWrong) {
  Numbers numbers;
  Origins origins;
  const std::vector<std::string> overrides = {"n.sum=much"};
  EXPECT_FALSE(Resolve("[n]\nb = 3\n", "n.toml", overrides, ListNumbers(numbers), origins).ok());
  EXPECT_EQ(numbers.b, 1);
}

TEST(ApplyOverrideTest, ReadsValuesAsTomlAndTextWithOrWithoutQuotes) {
  Example example;
  Origins origins;
  const FieldList fields = FieldsOf(example);
  ASSERT_OK(ApplyOverride("algorithm.loss_type=grpo", fields, origins));
  EXPECT_EQ(example.loss_type, "grpo");
  ASSERT_OK(ApplyOverride("algorithm.loss_type = \"dr_grpo\"", fields, origins));
  EXPECT_EQ(example.loss_type, "dr_grpo");
  ASSERT_OK(ApplyOverride("algorithm.path=runs/a=b #1", fields, origins));
  EXPECT_EQ(example.path, "runs/a=b #1");
  ASSERT_OK(ApplyOverride("algorithm.path=\"\"", fields, origins));
  EXPECT_EQ(example.path, "");
  ASSERT_OK(ApplyOverride("algorithm.path=42", fields, origins));
  EXPECT_EQ(example.path, "42");
  ASSERT_OK(ApplyOverride("algorithm.learning_rate=3e-4", fields, origins));
  EXPECT_EQ(example.learning_rate, 3e-4);
  ASSERT_OK(ApplyOverride("execution.activation_checkpointing=true", fields, origins));
  EXPECT_TRUE(example.activation_checkpointing);
}

TEST(ApplyOverrideTest, NamesThePartOfTheKeyThatIsMissing) {
  EXPECT_EQ(OverrideError("=1"), "--set =1: the key is missing: expected section.key");
  EXPECT_EQ(OverrideError(" = 1"), "--set  = 1: the key is missing: expected section.key");
  EXPECT_EQ(OverrideError(".threads=1"), "--set .threads=1: .threads lacks its section: expected section.key");
  EXPECT_EQ(OverrideError("rollout.=1"), "--set rollout.=1: rollout. lacks its key: expected section.key");
  EXPECT_EQ(OverrideError("rollout=1"),
            "--set rollout=1: rollout is a section, and no key: give a key of it, as rollout.KEY");
}

TEST(ApplyOverrideTest, QuotesTheArgumentInItsErrors) {
  EXPECT_EQ(OverrideError("rollut.x=1"), "--set rollut.x=1: unknown section rollut; did you mean rollout?");
  EXPECT_EQ(OverrideError("rollout.temprature=1"),
            "--set rollout.temprature=1: unknown key rollout.temprature; did you mean rollout.temperature?");
  EXPECT_EQ(OverrideError("rollout.temperature=hot"),
            "--set rollout.temperature=hot: rollout.temperature is \"hot\"; expected a number");
  EXPECT_EQ(OverrideError("rollout.num_generations=8.0"),
            "--set rollout.num_generations=8.0: rollout.num_generations is 8.0; expected a whole number: write 8");
  EXPECT_EQ(
      OverrideError("rollout.num_generations=1e3"),
      "--set rollout.num_generations=1e3: rollout.num_generations is 1000.0; expected a whole number: write 1000");
  EXPECT_EQ(OverrideError("rollout.num_generations=1.5"),
            "--set rollout.num_generations=1.5: rollout.num_generations is 1.5; expected a whole number");
  EXPECT_EQ(OverrideError("rollout.num_generations="),
            "--set rollout.num_generations=: the value is empty: --unset rollout.num_generations restores the default");
  EXPECT_EQ(
      OverrideError("algorithm.path= "),
      "--set algorithm.path= : the value is empty: --unset algorithm.path restores the default, \"\" in quotes is "
      "an empty text");
  EXPECT_EQ(OverrideError("rollout.num_generations"), "--set rollout.num_generations: expected section.key=value");
  EXPECT_EQ(OverrideError("threads=2"), "--set threads=2: threads has no section; did you mean execution.threads?");
}

TEST(ApplyOverrideTest, AcceptsExactlyOneValue) {
  EXPECT_EQ(OverrideError("rollout.num_generations=4\n[x]"),
            "--set rollout.num_generations=4\n[x]: rollout.num_generations is \"4\\n[x]\"; expected a whole number");
  EXPECT_THAT(OverrideError("rollout.num_generations=4 # four"), StartsWith("--set "));
  EXPECT_EQ(OverrideError("algorithm.path=\"runs"),
            "--set algorithm.path=\"runs: the value starts with a quote but is not one quoted string");
  EXPECT_EQ(OverrideError("algorithm.path=\xff"),
            "--set algorithm.path=\xff: the value is not UTF-8 text of at most 1 MiB");
}

}  // namespace
}  // namespace reprise::config
