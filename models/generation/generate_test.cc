#include "models/generation/generate.h"

#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"

namespace reprise::models {
namespace {

using testing::RandomModel;
using testing::RandomTokens;
using testing::SmallConfig;

struct Fixture {
  DecoderConfig config = SmallConfig();
  std::unique_ptr<Model> model = RandomModel(config, 3);
  std::vector<std::vector<int32_t>> tokens;
  std::vector<Prompt> prompts;
  GenerateOptions options;

  Fixture() {
    for (uint64_t p = 0; p < 5; ++p) tokens.push_back(RandomTokens(config, 20 + p, 3 + static_cast<int64_t>(p)));
    for (size_t p = 0; p < tokens.size(); ++p) prompts.push_back({tokens[p], p});
    options.num_generations = 4;
    options.max_completion_length = 10;
    options.end_tokens = {1, 5, 9, 12};
    options.sampling.temperature = 0.8f;
    options.seed = 77;
    options.step = 2;
  }

  GenerateResult Run(int threads) {
    ThreadPool pool(threads);
    return Generate(model->decoder(), prompts, options, pool);
  }
};

void ExpectSameCompletions(const GenerateResult& a, const GenerateResult& b) {
  ASSERT_EQ(a.completions.size(), b.completions.size());
  for (size_t i = 0; i < a.completions.size(); ++i) {
    EXPECT_EQ(a.completions[i].tokens, b.completions[i].tokens) << i;
    EXPECT_EQ(a.completions[i].logprobs, b.completions[i].logprobs) << i;
    EXPECT_EQ(a.completions[i].terminated, b.completions[i].terminated) << i;
  }
}

TEST(GenerateTest, GivesTheSameBitsForAnyNumberOfSlotsAndThreads) {
  Fixture fixture;
  const GenerateResult all_at_once = fixture.Run(1);
  EXPECT_EQ(all_at_once.refills, 0);
  for (int threads : {1, 2, 3}) {
    for (int64_t slots : {1, 3, 7, 100}) {
      fixture.options.slots = slots;
      const GenerateResult result = fixture.Run(threads);
      ExpectSameCompletions(all_at_once, result);
      EXPECT_EQ(result.expert_count_LE, all_at_once.expert_count_LE);
      if (slots <= 7) {
        EXPECT_GT(result.refills, 0) << slots;
      }
    }
  }
}

TEST(GenerateTest, ThreadsThatDecodeTogetherGiveTheSameBits) {
  Fixture fixture;
  const GenerateResult alone = fixture.Run(1);
  fixture.options.own_cache_bytes = 0;
  for (int64_t slots : {1, 7, 100}) {
    fixture.options.slots = slots;
    const GenerateResult together = fixture.Run(2);
    ExpectSameCompletions(alone, together);
    EXPECT_EQ(together.expert_count_LE, alone.expert_count_LE);
    EXPECT_EQ(together.completion_rows, alone.completion_rows);
  }
}

TEST(GenerateTest, PermutingPromptsPermutesResults) {
  Fixture fixture;
  fixture.options.slots = 3;
  const GenerateResult result = fixture.Run(2);
  const std::vector<size_t> order = {3, 0, 4, 2, 1};
  const std::vector<Prompt> prompts = fixture.prompts;
  for (size_t p = 0; p < order.size(); ++p) fixture.prompts[p] = prompts[order[p]];
  const GenerateResult permuted = fixture.Run(2);
  const size_t generations = static_cast<size_t>(fixture.options.num_generations);
  for (size_t p = 0; p < order.size(); ++p) {
    for (size_t g = 0; g < generations; ++g) {
      const SampledCompletion& expected = result.completions[order[p] * generations + g];
      const SampledCompletion& actual = permuted.completions[p * generations + g];
      EXPECT_EQ(actual.tokens, expected.tokens) << p << " " << g;
      EXPECT_EQ(actual.logprobs, expected.logprobs) << p << " " << g;
    }
  }
  EXPECT_EQ(permuted.expert_count_LE, result.expert_count_LE);
}

TEST(GenerateTest, ComputesEachPromptOnceAndEachSampledTokenButTheLastOnce) {
  Fixture fixture;
  const GenerateResult result = fixture.Run(2);
  int64_t prompt_rows = 0, completion_rows = 0;
  for (const auto& tokens : fixture.tokens) prompt_rows += static_cast<int64_t>(tokens.size());
  for (const auto& completion : result.completions) {
    completion_rows += static_cast<int64_t>(completion.tokens.size()) - 1;
  }
  EXPECT_EQ(result.prompt_rows, prompt_rows);
  EXPECT_EQ(result.completion_rows, completion_rows);
}

TEST(GenerateTest, EndsWithAnEndTokenOrAtTheLength) {
  Fixture fixture;
  bool some_ended = false, some_cut = false;
  for (const SampledCompletion& completion : fixture.Run(1).completions) {
    ASSERT_FALSE(completion.tokens.empty());
    EXPECT_EQ(completion.tokens.size(), completion.logprobs.size());
    (completion.terminated ? some_ended : some_cut) = true;
    if (!completion.terminated) {
      EXPECT_EQ(completion.tokens.size(), 10u);
    }
  }
  EXPECT_TRUE(some_ended && some_cut);
}

TEST(GenerateTest, DrawsNoEndTokenBeforeMinNewTokensAndChangesNothingElse) {
  Fixture fixture;
  const GenerateResult free = fixture.Run(1);
  fixture.options.min_new_tokens = 4;
  const GenerateResult bound = fixture.Run(2);
  bool some_end_at_once = false, some_are_the_same = false;
  for (size_t i = 0; i < bound.completions.size(); ++i) {
    const SampledCompletion& completion = bound.completions[i];
    EXPECT_GE(completion.tokens.size(), 4u);
    for (size_t t = 0; t < 4; ++t) {
      const auto& ends = fixture.options.end_tokens;
      EXPECT_EQ(std::find(ends.begin(), ends.end(), completion.tokens[t]), ends.end());
    }
    some_end_at_once |= completion.tokens.size() == 5 && completion.terminated;
    // The first log-probability is that of the whole distribution: it is the same where the same token is drawn.
    if (completion.tokens[0] == free.completions[i].tokens[0]) {
      some_are_the_same = true;
      EXPECT_EQ(completion.logprobs[0], free.completions[i].logprobs[0]);
      EXPECT_EQ(completion.entropies[0], free.completions[i].entropies[0]);
    }
  }
  EXPECT_TRUE(some_end_at_once && some_are_the_same);
}

TEST(GenerateTest, EndsACompletionWhereItIsCompleteAndChangesNoEarlierToken) {
  Fixture fixture;
  const GenerateResult free = fixture.Run(1);
  const auto is_complete = [](absl::Span<const int32_t> tokens) {
    return tokens.size() >= 2 && tokens.back() > tokens[tokens.size() - 2];
  };
  fixture.options.is_complete = is_complete;
  bool some_end_earlier = false;
  for (const int threads : {1, 3}) {
    fixture.options.slots = threads == 1 ? 0 : 3;
    const GenerateResult stopped = fixture.Run(threads);
    for (size_t i = 0; i < stopped.completions.size(); ++i) {
      const SampledCompletion &a = stopped.completions[i], &b = free.completions[i];
      size_t length = 1;
      while (length < b.tokens.size() && !is_complete(absl::MakeConstSpan(b.tokens).first(length))) ++length;
      EXPECT_EQ(a.tokens, std::vector<int32_t>(b.tokens.begin(), b.tokens.begin() + static_cast<int64_t>(length)));
      EXPECT_EQ(a.terminated, is_complete(a.tokens) || b.terminated);
      some_end_earlier |= a.tokens.size() < b.tokens.size();
    }
  }
  EXPECT_TRUE(some_end_earlier);
}

// top_k, top_p and min_new_tokens, one by one and together.
std::vector<GenerateOptions> Restricted(GenerateOptions options) {
  options.reports_behaviour = true;
  std::vector<GenerateOptions> all(4, options);
  all[0].sampling.top_k = 5;
  all[1].sampling.top_p = 0.7f;
  all[2].min_new_tokens = 4;
  all[3].sampling.top_k = 9, all[3].sampling.top_p = 0.8f, all[3].min_new_tokens = 3;
  return all;
}

TEST(GenerateTest, ReturnsTheSameBehaviourForAnyNumberOfSlotsAndThreads) {
  Fixture fixture;
  EXPECT_TRUE(fixture.Run(1).completions[0].behaviour_logprobs.empty());
  for (const GenerateOptions& options : Restricted(fixture.options)) {
    fixture.options = options;
    const GenerateResult one = fixture.Run(1);
    fixture.options.slots = 3;
    const GenerateResult other = fixture.Run(3);
    bool some_differ = false;
    for (size_t i = 0; i < one.completions.size(); ++i) {
      const SampledCompletion& completion = one.completions[i];
      EXPECT_EQ(completion.behaviour_logprobs, other.completions[i].behaviour_logprobs) << i;
      ASSERT_EQ(completion.behaviour_logprobs.size(), completion.tokens.size());
      for (size_t t = 0; t < completion.tokens.size(); ++t) {
        // Leaving tokens out raises the probability of the others; without restrictions it is the log-probability
        // itself.
        EXPECT_GE(completion.behaviour_logprobs[t], completion.logprobs[t] - 1e-5f);
        some_differ |= completion.behaviour_logprobs[t] > completion.logprobs[t] + 1e-3f;
        const bool is_free = options.sampling.top_k == 0 && options.sampling.top_p == 1.0f && t >= 4;
        if (is_free) {
          EXPECT_EQ(completion.behaviour_logprobs[t], completion.logprobs[t]) << i << " " << t;
        }
      }
    }
    EXPECT_TRUE(some_differ);
  }
}

TEST(GenerateTest, DependsOnSeedStepPromptAndSample) {
  Fixture fixture;
  const GenerateResult base = fixture.Run(1);
  EXPECT_NE(base.completions[0].tokens, base.completions[1].tokens);
  fixture.options.step = 3;
  EXPECT_NE(fixture.Run(1).completions[0].logprobs, base.completions[0].logprobs);
  fixture.options.step = 2;
  fixture.options.seed = 78;
  EXPECT_NE(fixture.Run(1).completions[0].logprobs, base.completions[0].logprobs);
}

}  // namespace
}  // namespace reprise::models
