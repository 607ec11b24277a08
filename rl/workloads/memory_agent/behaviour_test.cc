#include "rl/workloads/memory_agent/behaviour.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;
using enum data::MemoryOperation;
using Operations = std::vector<MemoryOperation>;

const Operations kAll = {kAdd, kUpdate, kDelete, kRetrieve, kSummary, kFilter};
const Operations kLongTerm = {kAdd, kUpdate, kDelete}, kShortTerm = {kRetrieve, kSummary, kFilter};
const std::vector<float> kLogits = {0.5f, -1.0f, 2.0f, 0.0f, 0.25f, -3.0f};

TEST(MemoryBehaviourTest, UniformAndPolicyNeverMakeUpForMissingOperations) {
  EXPECT_EQ(UniformChoices(MemoryBehaviour::kUniform, {}, 1), kAll);
  EXPECT_EQ(UniformChoices(MemoryBehaviour::kPolicy, {}, 1), Operations{});
}

TEST(MemoryBehaviourTest, MissingKindsAreMadeUpForInTheLastTwoOperations) {
  const auto choices = [](const Operations& so_far, int64_t steps) {
    const Operations guided = UniformChoices(MemoryBehaviour::kGuided, so_far, steps);
    EXPECT_EQ(UniformChoices(MemoryBehaviour::kHeuristic, so_far, steps), guided.empty() ? kAll : guided);
    return guided;
  };
  EXPECT_EQ(choices({kRetrieve}, 4), Operations{});  // three are left
  EXPECT_EQ(choices({kRetrieve, kFilter}, 4), kLongTerm);
  EXPECT_EQ(choices({kRetrieve, kFilter, kSummary}, 4), kLongTerm);
  EXPECT_EQ(choices({kAdd, kUpdate}, 4), kShortTerm);
  EXPECT_EQ(choices({kAdd, kRetrieve}, 4), Operations{});
  EXPECT_EQ(choices({}, 2), kLongTerm);
  EXPECT_EQ(choices({kDelete}, 2), kShortTerm);
}

// The policy's log-probability was recorded as that of an operation drawn from all alike.
TEST(DrawOperationTest, RecordsTheProbabilityOfWhatItWasDrawnFrom) {
  const DrawnOperation uniform = DrawOperation(kAll, kLogits, 1.0f, 0.5);
  EXPECT_EQ(uniform.operation, kRetrieve);
  EXPECT_NEAR(uniform.behaviour_logprob, -1.791759, 1e-6);
  EXPECT_LT(uniform.logprob, -2.0f);
  EXPECT_NEAR(DrawOperation(kShortTerm, kLogits, 1.0f, 0.999).behaviour_logprob, -std::log(3.0), 1e-6);
  const DrawnOperation policy = DrawOperation({}, kLogits, 1.0f, 0.5);
  EXPECT_EQ(policy.behaviour_logprob, policy.logprob);
}

TEST(DrawOperationTest, LogprobsAreThoseOfASoftmaxAtTheTemperature) {
  for (const float temperature : {1.0f, 0.5f}) {
    double sum = 0;
    for (const float logit : kLogits) sum += std::exp(logit / temperature);
    for (const MemoryOperation operation : kAll) {
      const double expected = kLogits[static_cast<size_t>(operation)] / temperature - std::log(sum);
      EXPECT_NEAR(ScoreOperation({}, kLogits, temperature, operation).logprob, expected, 1e-5);
    }
  }
}

TEST(DrawOperationTest, EveryChoiceIsDrawnEquallyOften) {
  std::map<MemoryOperation, int> counts;
  for (int i = 0; i < 3000; ++i) ++counts[DrawOperation(kLongTerm, kLogits, 1.0f, i / 3000.0).operation];
  EXPECT_EQ(counts, (std::map<MemoryOperation, int>{{kAdd, 1000}, {kUpdate, 1000}, {kDelete, 1000}}));
  EXPECT_EQ(DrawOperation(kAll, kLogits, 1.0f, 1 - 0x1p-53).operation, kFilter);
}

RC_GTEST_PROP(DrawOperationProperty, AReplayGivesTheBitsOfTheDraw, ()) {
  std::vector<float> logit_A;
  for (size_t a = 0; a < data::kMemoryOperationCount; ++a) {
    logit_A.push_back(static_cast<float>(*rc::gen::inRange(-4000, 4000)) / 500.0f);
  }
  const Operations choices = *rc::gen::element(Operations{}, kAll, kLongTerm, kShortTerm);
  const float temperature = *rc::gen::element(0.5f, 1.0f, 2.0f);
  const DrawnOperation drawn = DrawOperation(choices, logit_A, temperature, *rc::gen::inRange(0, 1 << 20) * 0x1p-20);
  const DrawnOperation scored = ScoreOperation(choices, logit_A, temperature, drawn.operation);
  RC_ASSERT(scored.logprob == drawn.logprob);
  RC_ASSERT(scored.behaviour_logprob == drawn.behaviour_logprob);
  if (!choices.empty()) RC_ASSERT(std::find(choices.begin(), choices.end(), drawn.operation) != choices.end());
}

TEST(DrawOperationTest, AnOperationThatIsNoChoiceIsNeverDrawn) {
  EXPECT_EQ(ScoreOperation(kLongTerm, kLogits, 1.0f, kFilter).behaviour_logprob,
            -std::numeric_limits<float>::infinity());
}

TEST(GreedyOperationTest, IsTheFirstOfTheMostProbable) {
  EXPECT_EQ(GreedyOperation(kLogits), kDelete);
  EXPECT_EQ(GreedyOperation(std::vector<float>(6, 1.0f)), kAdd);
}

}  // namespace
}  // namespace reprise::rl
