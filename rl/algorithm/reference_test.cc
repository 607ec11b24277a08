// docs/algorithms.md is generated from the table. After an intended change, `bazel run //rl/algorithm:reference_test`
// rewrites the page.

#include "rl/algorithm/reference.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "rl/algorithm/algorithm.h"
#include "rl/algorithm/formulas.h"
#include "rl/algorithm/metric_definitions.h"

namespace reprise::rl {
namespace {

constexpr char kPage[] = "docs/algorithms.md";

TEST(AlgorithmReferenceTest, IsThePageInTheDocumentation) {
  if (const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY")) {  // set by `bazel run` alone
    std::ofstream(std::string(workspace) + "/" + kPage) << AlgorithmReferenceMarkdown();
    return;
  }
  std::stringstream page;
  page << std::ifstream(kPage).rdbuf();
  EXPECT_EQ(AlgorithmReferenceMarkdown(), page.str())
      << "the table has changed; if that is intended: bazel run //rl/algorithm:reference_test";
}

TEST(FormulasTest, DifferBetweenRows) {
  std::set<std::string> seen;
  for (const absl::string_view name : AlgorithmNames()) {
    const AlgorithmConfig row = *FindAlgorithm(name);
    const std::string all = AdvantageFormula(row) + RatioFormula(row.loss) + TermFormula(row.loss) +
                            LossFormula(row.loss) + DivergenceFormula(row) + ValueFormula(row);
    EXPECT_TRUE(seen.insert(all).second) << name << ": " << all;
  }
}

TEST(FormulasTest, AreThoseOfThePapers) {
  const AlgorithmConfig grpo = *FindAlgorithm("grpo");
  EXPECT_EQ(AdvantageFormula(grpo), "A_i = (R_i - mean of its group) / (standard deviation of its group + 0.0001)");
  EXPECT_EQ(RatioFormula(grpo.loss), "r_t = exp(logp_t - old_t)");
  EXPECT_EQ(TermFormula(grpo.loss), "l_t = -min(r_t A, clip(r_t, 0.8, 1.2) A)");
  EXPECT_EQ(AdvantageFormula(*FindAlgorithm("rloo")), "A_i = R_i - mean of the others of its group");
  EXPECT_EQ(AdvantageFormula(*FindAlgorithm("reinforce")), "A_i = R_i");
  AlgorithmConfig agemem = *FindAlgorithm("agemem");
  EXPECT_EQ(
      AdvantageFormula(agemem),
      "R_t = r_t + 0 R_{t+1} over steps t, A_t = R_t - mean of R_t of the episodes of its group that have step t");
  agemem.advantage.scale_rewards = ScaleRewards::kGroup;
  EXPECT_EQ(
      AdvantageFormula(agemem),
      "R_t = r_t + 0 R_{t+1} over steps t, A_t = (R_t - mean of R_t of the episodes of its group that have step t) "
      "/ (standard deviation of the same R_t + 0.0001)");
  EXPECT_EQ(TermFormula(FindAlgorithm("reinforce")->loss), "l_t = -A logp_t");
}

TEST(MetricDefinitionsTest, EachNameIsDefinedOnce) {
  std::set<absl::string_view> names;
  for (const MetricDefinition& metric : MetricDefinitions()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_FALSE(metric.meaning.empty());
  }
}

}  // namespace
}  // namespace reprise::rl
