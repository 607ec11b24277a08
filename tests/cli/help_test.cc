// Every verb explains itself.

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

INSTANTIATE_TEST_SUITE_P(Verbs, HelpTest,
                         ::testing::Values("train", "evaluate", "reproduce", "compare", "inspect", "validate",
                                           "export"));

}  // namespace
}  // namespace reprise::testing
