// Promise: the same bytes, including evaluations and the weights that they store.

#include "gtest/gtest.h"
#include "tests/determinism/trial.h"

namespace reprise::testing {
namespace {

TEST(EvaluationTest, HasTheSameBytesOnAnyRanksAndForAnyExecution) {
  const std::vector<std::string> evaluations = {"evaluation.every=1",
                                                "evaluation.on_start=true",
                                                "evaluation.num_prompts=7",
                                                "evaluation.num_generations=3",
                                                "evaluation.held_out_share=0.3",
                                                "evaluation.metric_for_best_model=\"eval_reward\"",
                                                "evaluation.load_best_model_at_end=true"};
  const TrainedRun one = Train(kSmallRun, evaluations, {});
  ASSERT_FALSE(one.run_sha256.empty());
  EXPECT_NE(one.run_sha256, Baseline().run_sha256);
  std::vector<std::string> otherwise = evaluations;
  otherwise.insert(otherwise.end(), {"execution.threads=2", "execution.decode_slots=2"});
  const TrainedRun four = Train(kSmallRun, otherwise, {.ranks = 4, .isa = "avx2"});
  EXPECT_EQ(four.run_sha256, one.run_sha256);
  EXPECT_EQ(four.weights_sha256, one.weights_sha256);
  EXPECT_TRUE(Reproduce(one.file(), "regenerate", {.ranks = 3}).pass);
}

}  // namespace
}  // namespace reprise::testing
