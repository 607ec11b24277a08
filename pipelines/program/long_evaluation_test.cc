#include "pipelines/program/long_evaluation.h"

#include "gtest/gtest.h"

namespace reprise {
namespace {

std::string NoteOf(int64_t prompts, int64_t samples) {
  rl::EvaluationConfig evaluation;
  evaluation.num_prompts = prompts;
  evaluation.num_generations = samples;
  return NoteOfLongEvaluation(evaluation);
}

TEST(LongEvaluationTest, OnlyEvaluationsOfManyCompletionsHaveANote) {
  EXPECT_EQ(NoteOf(64, 16), "");
  EXPECT_EQ(NoteOf(99'999, 0), "");
  EXPECT_EQ(NoteOf(100'000, 0),
            "an evaluation has up to 100000 problems, and 0 samples of each: nothing is shown before its end");
  EXPECT_EQ(NoteOf(50'000, 1),
            "an evaluation has up to 50000 problems, and 1 samples of each: nothing is shown before its end");
}

}  // namespace
}  // namespace reprise
