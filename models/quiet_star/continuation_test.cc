#include "models/quiet_star/continuation.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "models/quiet_star/thinking_tokens.h"
#include "models/quiet_star/thought_testing.h"

namespace reprise::models {
namespace {

using testing::RandomThoughtModel;
using testing::SmallConfig;

struct Problem {
  std::unique_ptr<ThoughtModel> model = RandomThoughtModel(SmallConfig(), {}, 3);
  std::vector<std::vector<int32_t>> tokens = {testing::RandomTokens(SmallConfig(), 1, 7),
                                              testing::RandomTokens(SmallConfig(), 2, 4)};
  ContinuationOptions options = {.max_tokens = 8,
                                 .thoughts = {.min_length = 1,
                                              .max_length = 4,
                                              .delimiters = DelimitersOf(model->config()),
                                              .sampling = {.temperature = 1.5f},
                                              .seed = 5,
                                              .purpose = kEvaluationThought}};

  std::vector<Continuation> Continue(int threads = 1) const {
    ThreadPool pool(threads);
    const std::vector<ThinkingText> texts = {{tokens[0], 2}, {tokens[1], 3}};
    return ContinueTexts({model->decoder(), model->heads()}, texts, options, pool);
  }
};

// What a training pass computes for the continued text, given the thoughts.
ThoughtScores ScoresOf(const Problem& problem, size_t text, const Continuation& continuation) {
  std::vector<int32_t> whole = problem.tokens[text];
  whole.insert(whole.end(), continuation.tokens.begin(), continuation.tokens.end());
  const ThoughtfulText view = {whole, continuation.thoughts};
  ThoughtScores result;
  ThoughtWorkspace work(problem.model->config(), 0, false, Team());
  ScoreThoughts(
      {problem.model->decoder(), problem.model->heads()}, {&view, 1}, {problem.options.thoughts.delimiters, 1, 1.5f},
      [&](int64_t, const ThoughtScores& scores) { result = scores; }, &work);
  return result;
}

TEST(ContinuationTest, TokensAreTheMostProbableOnesOfTheMixtureThatTrainingComputes) {
  const Problem problem;
  const std::vector<Continuation> continuations = problem.Continue();
  for (size_t i = 0; i < 2; ++i) {
    const Continuation& continuation = continuations[i];
    ASSERT_EQ(continuation.tokens.size(), 8u);
    ASSERT_EQ(continuation.thoughts.size(), 8u);
    const ThoughtScores scores = ScoresOf(problem, i, continuation);
    EXPECT_EQ(continuation.logprobs, scores.mixed_logprob_A);
    size_t correct = 0;
    for (const uint8_t is_correct : scores.mixed_correct_A) correct += is_correct;
    EXPECT_GE(correct, 7u);  // all, but for delimiters, which are not drawn
  }
}

TEST(ContinuationTest, WithoutThoughtsItIsTheModelsOwn) {
  Problem problem;
  const std::vector<Continuation> thinking = problem.Continue();
  problem.options.thinks = false;
  const std::vector<Continuation> continuations = problem.Continue();
  EXPECT_NE(continuations[0].tokens, thinking[0].tokens);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(continuations[i].thoughts.empty());
    const std::vector<float> base = ScoresOf(problem, i, continuations[i]).base_logprob_S;
    EXPECT_EQ(continuations[i].logprobs, std::vector<float>(base.end() - 8, base.end()));
  }
}

TEST(ContinuationTest, ThreadsAndOtherTextsChangeNoBit) {
  const Problem problem;
  const std::vector<Continuation> expected = problem.Continue(), threads = problem.Continue(2);
  ThreadPool pool(1);
  const ThinkingText alone = {problem.tokens[1], 3};
  const std::vector<Continuation> second =
      ContinueTexts({problem.model->decoder(), problem.model->heads()}, {&alone, 1}, problem.options, pool);
  EXPECT_EQ(second[0].tokens, expected[1].tokens);
  EXPECT_EQ(second[0].logprobs, expected[1].logprobs);
  EXPECT_EQ(second[0].thoughts, expected[1].thoughts);
  EXPECT_EQ(threads[0].logprobs, expected[0].logprobs);
}

TEST(ContinuationTest, EndsWithAnEndTokenAndLeavesOutWhatIsForbidden) {
  Problem problem;
  const std::vector<int32_t> tokens = problem.Continue()[0].tokens;
  problem.options.end_tokens = {tokens[2]};
  const std::vector<Continuation> ended = problem.Continue();
  EXPECT_LE(ended[0].tokens.size(), 3u);
  EXPECT_EQ(ended[0].tokens.back(), tokens[2]);
  EXPECT_EQ(ended[0].thoughts.size(), ended[0].tokens.size());
  problem.options.thoughts.forbidden = {tokens[0]};
  EXPECT_NE(problem.Continue()[0].tokens[0], tokens[0]);
}

}  // namespace
}  // namespace reprise::models
