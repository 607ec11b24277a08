// Promise: `reproduce` reproduces a run bit for bit on any numbers of ranks and threads, in both modes.

#include "gtest/gtest.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

constexpr char kSmallRun[] = "tests/determinism/small.toml";
constexpr int64_t kSteps = 2 + 3;

const TrainedRun& RunOfTwoRanks() {
  static const auto* const run = new TrainedRun(Train(kSmallRun, {"execution.threads=2"}, {.ranks = 2}));
  return *run;
}

void ExpectPass(const std::string& mode, const Execution& execution, const std::vector<std::string>& flags) {
  SCOPED_TRACE(mode + " on " + std::to_string(execution.ranks) + " ranks");
  const Verdict verdict = Reproduce(RunOfTwoRanks().file(), mode, execution, flags);
  EXPECT_EQ(verdict.process.exit_code, 0) << verdict.process.err;
  ASSERT_TRUE(verdict.given) << verdict.process.out;
  EXPECT_TRUE(verdict.pass);
  EXPECT_EQ(verdict.steps_checked, kSteps);
  EXPECT_FALSE(verdict.first.has_value());
}

TEST(ReproduceTest, ReplaysOnOtherRanksAndThreads) {
  ExpectPass("replay", {.ranks = 1}, {});
  ExpectPass("replay", {.ranks = 3}, {"--threads", "2"});
  ExpectPass("replay", {.ranks = 8}, {});
}

TEST(ReproduceTest, RegeneratesOnOtherRanksAndThreads) {
  ExpectPass("regenerate", {.ranks = 1}, {"--threads", "3"});
  ExpectPass("regenerate", {.ranks = 3}, {});
  ExpectPass("regenerate", {.ranks = 4, .isa = "avx2"}, {});
}

}  // namespace
}  // namespace reprise::testing
