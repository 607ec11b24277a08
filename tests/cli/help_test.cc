// --help, --version and unknown options of every verb.

#include <filesystem>
#include <regex>

#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class HelpTest : public ::testing::TestWithParam<const char*> {};

TEST_P(HelpTest, HelpShowsAnExampleThatNamesTheVerb) {
  const ProcessResult help = RunVerb(GetParam(), {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr(std::string("Example:\n  ./reprise ") + GetParam() + " "));
  EXPECT_THAT(help.out, HasSubstr("Exit codes: 0 done"));
  EXPECT_EQ(help.err, "");
}

TEST_P(HelpTest, VersionNamesRevisionContractAndLibraries) {
  const ProcessResult version = RunVerb(GetParam(), {"--version"});
  EXPECT_EQ(version.exit_code, 0);
  for (const char* what : {"revision ", "numeric contract ", "instruction set ", "compiler ", "HDF5 ", "MPI "}) {
    EXPECT_THAT(version.out, HasSubstr(std::string("\n") + what));
  }
}

TEST_P(HelpTest, AnUnknownFlagIsAUsageError) {
  const ProcessResult result = RunVerb(GetParam(), {"--nonsense"});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, StartsWith(std::string("reprise ") + GetParam() + ": error: "));
  EXPECT_THAT(result.err, HasSubstr(std::string("(./reprise ") + GetParam() + " --help explains)\n"));
}

TEST_P(HelpTest, AnEmptyArgumentIsAUsageError) {
  const std::string verb = GetParam();
  const std::string explains = " (./reprise " + verb + " --help explains)";
  const char* const empty = "an argument is empty: perhaps a variable of your shell is not set";
  EXPECT_THAT(RunVerb(verb, {"", "b"}), FailsWith(verb, 64, empty + explains));
  EXPECT_THAT(RunVerb(verb, {"a", ""}), FailsWith(verb, 64, empty + explains));
  EXPECT_THAT(RunVerb(verb, {"--", ""}), FailsWith(verb, 64, empty + explains));
  EXPECT_THAT(RunVerb(verb, {"a", "--ranks-to-start", ""}),
              FailsWith(verb, 64,
                        "--ranks-to-start has an empty value: perhaps a variable of your shell is not set" + explains));
}

// Every option in the help, with an empty value and with another option for its value: in all forms for the first
// option, and in one for each of the others.
TEST_P(HelpTest, AnEmptyValueAndAnOptionForAValueAreUsageErrors) {
  const std::string verb = GetParam(), help = RunVerb(verb, {"--help"}).out;
  const std::string explains = " (./reprise " + verb + " --help explains)\n";
  const std::string own = help.substr(0, help.find("Options of the launcher"));
  const std::regex names("(--[a-z-]+) (TEXT|INT|UINT|FLOAT|TEXT REQUIRED)");
  int options = 0;
  for (std::sregex_iterator found(own.begin(), own.end(), names), end; found != end; ++found, ++options) {
    const std::string option = (*found)[1];
    const std::vector<std::vector<std::string>> empty = {
        {"a", option + "="}, {"a", option + "=", "--quiet"}, {"a", option, ""}};
    const std::vector<std::vector<std::string>> followed = {{"a", option, "--quiet"}, {"a", option + "=--quiet"}};
    for (size_t form = 0; form < empty.size(); ++form) {
      if (options != 0 && form != static_cast<size_t>(options) % empty.size()) continue;
      const std::vector<std::string>& arguments = empty[form];
      const ProcessResult result = RunVerb(verb, arguments);
      EXPECT_EQ(result.exit_code, 64);
      EXPECT_THAT(result.err, HasSubstr(option + " has an empty value: perhaps a variable of your shell is not set"));
    }
    for (size_t form = 0; form < followed.size(); ++form) {
      if (options != 0 && form != static_cast<size_t>(options) % followed.size()) continue;
      const std::vector<std::string>& arguments = followed[form];
      const ProcessResult result = RunVerb(verb, arguments);
      EXPECT_EQ(result.exit_code, 64);
      EXPECT_THAT(result.err, HasSubstr(option +
                                        " needs a value, and --quiet is an option; a file of that name is "
                                        "./--quiet" +
                                        explains));
    }
  }
  EXPECT_GE(options, verb == "compare" ? 0 : 1) << own;
  EXPECT_FALSE(std::filesystem::exists("--quiet"));
}

TEST(OptionValueTest, ANegativeNumberIsAValue) {
  EXPECT_THAT(RunVerb("train", {"c.toml", "--output", "o", "--stop-after-step", "-1"}).err,
              HasSubstr("-1: expected a whole number, 1 or more"));
}

INSTANTIATE_TEST_SUITE_P(Verbs, HelpTest,
                         ::testing::Values("train", "sweep", "evaluate", "reproduce", "compare", "inspect", "validate",
                                           "export"));

TEST(UnknownOptionTest, IsReportedWithASuggestion) {
  struct Case {
    const char* verb;
    std::vector<std::string> arguments;
    const char* reported;
  };
  const Case cases[] = {
      {"train", {"c.toml", "--ouput", "o"}, "--ouput; did you mean --output?"},
      {"train", {"c.toml", "--output", "o", "--rank", "2"}, "--rank; did you mean --ranks?"},
      {"train",
       {"c.toml", "--output", "o", "--learning-rate", "1e-3"},
       "--learning-rate; did you mean --set optimizer.learning_rate=...?"},
      {"validate", {"c.toml", "--num_generation=4"}, "--num_generation; did you mean --set rollout.num_generations=4?"},
      {"train",
       {"c.toml", "--per-device-train-batch-size=4"},
       "--per-device-train-batch-size; did you mean --set rollout.prompts_per_step=4?"},
      {"train", {"c.toml", "--output_dir", "o"}, "--output_dir; did you mean --output?"},
      {"train", {"c.toml", "--seed", "3"}, "--seed; did you mean --set run.seed=...?"},
      {"train", {"c.toml", "--lr=1e-3"}, "--lr; did you mean --set optimizer.learning_rate=1e-3?"},
      {"train", {"c.toml", "-o", "runs/a"}, "-o; did you mean --output?"},
      {"train",
       {"c.toml", "--output", "o", "--ranks", "2"},
       "--ranks: it is the launcher's; mpirun -n N starts N ranks of a program"},
      {"train",
       {"c.toml", "--output", "o", "--slurm", "--nodes", "2"},
       "--slurm: it is the launcher's, ./reprise; slurm/submit.sh takes it too"},
      {"evaluate", {"run.h5", "--node", "2"}, "--node; did you mean --nodes?"},
      {"inspect", {"run.h5", "--modle", "m"}, "--modle; did you mean --model?"},
      {"inspect", {"run.h5", "--learning-rate", "1"}, "--learning-rate"},
  };
  for (const Case& one : cases) {
    const std::string explains = std::string(" (./reprise ") + one.verb + " --help explains)";
    EXPECT_THAT(RunVerb(one.verb, one.arguments),
                FailsWith(one.verb, 64, std::string("unknown option ") + one.reported + explains));
  }
  EXPECT_THAT(RunVerb("train", {"c.toml", "--output", "a", "--output", "b"}),
              FailsWith("train", 64, "--output is given more than once (./reprise train --help explains)"));
  EXPECT_THAT(
      RunVerb("train", {"c.toml", "--output", "o", "run.steps=3"}),
      FailsWith("train", 64, "run.steps=3: a key is set by --set run.steps=3 (./reprise train --help explains)"));
}

}  // namespace
}  // namespace reprise::testing
