#include "benchmarks/gate/gates_file.h"

#include <fstream>
#include <sstream>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::gate {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kGates[] = R"([fast]
claim = "It is fast."
numerator = "bazel-bin/benchmarks/a --x"
numerator_value = "ms"
denominator = "same run"
denominator_value = "bare_ms"
at_most = 2

[steady]
claim = "It stays fast."
prepare = "bazel-bin/pipelines/train {prepared}"
numerator = "bazel-bin/benchmarks/a --x"
numerator_value = "ms"
denominator = "baseline"
at_most = 1.1
repetitions = 11
)";

std::string With(const std::string& from, const std::string& to) {
  std::string text = kGates;
  return text.replace(text.find(from), from.size(), to);
}

TEST(GatesFileTest, GatesAreReadInTheirOrder) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Gate> gates, ReadGates(kGates, "gates.toml"));
  ASSERT_EQ(gates.size(), 2);
  EXPECT_EQ(gates[0].name, "fast");
  EXPECT_TRUE(gates[0].same_run());
  EXPECT_FALSE(gates[0].bound()->at_least);
  EXPECT_EQ(gates[0].bound()->ratio, 2);
  EXPECT_EQ(gates[0].repetitions, 7);
  EXPECT_TRUE(gates[1].against_baseline());
  EXPECT_EQ(gates[1].value_below(), "ms");
  EXPECT_THAT(LabelsOf(gates), ElementsAre("//benchmarks:a", "//pipelines:train"));
}

TEST(GatesFileTest, AnErrorNamesItsPlaceAndItsCause) {
  const auto refused = [](const std::string& text, const char* why) {
    EXPECT_THAT(ReadGates(text, "gates.toml"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused(With("at_most", "at_mots"), "gates.toml:7:1: unknown key fast.at_mots; did you mean fast.at_most?");
  refused(With("= 2", "= \"2\""), "gates.toml:7:11: fast.at_most is \"2\"");
  refused(With("= 11", "= 4"), "steady.repetitions is 4; expected 5 to 50");
  refused(With("claim = \"It is fast.\"", ""), "gates.toml: fast: claim is empty");
  refused(With("at_most = 2", ""), "fast: exactly one of at_least and at_most must be set");
  refused(With("at_most = 2", "at_most = 2\nat_least = 1"), "fast: exactly one of at_least and at_most must be set");
  refused(With("at_most = 2", "at_most = 2\njudged = false"), "fast: judged is false, so at_least and at_most");
  refused(With("at_most = 2", "at_most = 2\nat_least_avx2 = 1"), "fast: at_least_avx2 requires at_least");
  refused(With("denominator_value = \"bare_ms\"", ""), "fast: denominator_value must be another number");
  refused(With("denominator = \"baseline\"", ""), "steady: denominator must be another command");
  refused(With("\"baseline\"", "\"baseline\"\ndenominator_value = \"s\""), "steady: against the baseline, ");
}

TEST(GatesFileTest, AnInstructionSetMayHaveItsOwnBound) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Gate> gates,
                       ReadGates(With("at_most = 2", "at_most = 2\nat_most_avx2 = 3"), "gates.toml"));
  EXPECT_EQ(BoundsFor(kernels::Isa::kAvx2, gates)[0].bound()->ratio, 3);
  EXPECT_EQ(BoundsFor(kernels::Isa::kAvx512, gates)[0].bound()->ratio, 2);
  EXPECT_EQ(BoundsFor(kernels::Isa::kAvx2, gates)[1].bound()->ratio, 1.1);
}

TEST(GatesFileTest, AGateThatIsNotJudgedHasNoBound) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Gate> gates, ReadGates(With("at_most = 2", "judged = false"), "gates.toml"));
  EXPECT_FALSE(gates[0].bound().has_value());
}

TEST(GatesFileTest, GatesAreChosenByName) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Gate> gates, ReadGates(kGates, "gates.toml"));
  EXPECT_EQ(ChooseGates(gates, {})->size(), 2);
  ASSERT_OK_AND_ASSIGN(const std::vector<Gate> chosen, ChooseGates(gates, {"steady"}));
  ASSERT_EQ(chosen.size(), 1);
  EXPECT_EQ(chosen[0].name, "steady");
  EXPECT_THAT(ChooseGates(gates, {"stedy"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"steady\"?")));
}

TEST(GatesFileTest, TheShippedGatesAreValid) {
  std::stringstream text;
  text << std::ifstream("benchmarks/gates.toml").rdbuf();
  ASSERT_OK_AND_ASSIGN(const std::vector<Gate> gates, ReadGates(text.str(), "benchmarks/gates.toml"));
  EXPECT_GE(gates.size(), 5);
}

}  // namespace
}  // namespace reprise::gate
