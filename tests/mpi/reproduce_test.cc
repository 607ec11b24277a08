// Promise: `reproduce` reproduces a run bit for bit on any numbers of ranks and threads, in both modes: with every
// workload.

#include <map>
#include <string>

#include "gtest/gtest.h"
#include "tests/programs/programs.h"
#include "tests/workloads/workloads.h"

namespace reprise::testing {
namespace {

constexpr int64_t kSteps = 2 + 3;  // of every trial run

class ReproduceTest : public ::testing::TestWithParam<TestedWorkload> {
 protected:
  // On two ranks with two threads. Executed once per process and workload.
  const TrainedRun& run() {
    static auto* const runs = new std::map<std::string, TrainedRun>;
    const TestedWorkload& workload = GetParam();
    if (runs->count(workload.name) == 0) {
      runs->emplace(workload.name, Train(workload.trial.config, {"execution.threads=2"}, {.ranks = 2}));
    }
    return runs->at(workload.name);
  }

  void ExpectPass(const std::string& mode, const Execution& execution, const std::vector<std::string>& flags) {
    SCOPED_TRACE(mode + " on " + std::to_string(execution.ranks) + " ranks");
    const Verdict verdict = Reproduce(run().file(), mode, execution, flags);
    EXPECT_EQ(verdict.process.exit_code, 0) << verdict.process.err;
    ASSERT_TRUE(verdict.given) << verdict.process.out;
    EXPECT_TRUE(verdict.pass);
    EXPECT_EQ(verdict.steps_checked, kSteps);
    EXPECT_FALSE(verdict.first.has_value());
  }
};

TEST_P(ReproduceTest, ReplaysOnOtherRanksAndThreads) {
  ExpectPass("replay", {.ranks = 1}, {});
  ExpectPass("replay", {.ranks = 3}, {"--threads", "2"});
  ExpectPass("replay", {.ranks = 8}, {});
}

TEST_P(ReproduceTest, RegeneratesOnOtherRanksAndThreads) {
  ExpectPass("regenerate", {.ranks = 1}, {"--threads", "3"});
  ExpectPass("regenerate", {.ranks = 3}, {});
  ExpectPass("regenerate", {.ranks = 4, .isa = "avx2"}, {});
}

FOR_EACH_WORKLOAD(ReproduceTest);

}  // namespace
}  // namespace reprise::testing
