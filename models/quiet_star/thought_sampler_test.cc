#include "models/quiet_star/thought_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "models/quiet_star/thinking_tokens.h"
#include "models/quiet_star/thought_pass.h"
#include "models/quiet_star/thought_testing.h"

namespace reprise::models {
namespace {

using testing::RandomThoughtModel;
using testing::SmallConfig;

struct Problem {
  std::unique_ptr<ThoughtModel> model = RandomThoughtModel(SmallConfig(), {}, 3);
  std::vector<std::vector<int32_t>> tokens = {testing::RandomTokens(SmallConfig(), 1, 17),
                                              testing::RandomTokens(SmallConfig(), 2, 9)};
  std::vector<ThinkingText> texts = {{tokens[0], 5, {0, 1, 2, 3, 7, 8, 15}}, {tokens[1], 6, {2, 4, 7}}};
  ThoughtSampling options = {.num_thoughts = 3,
                             .min_length = 2,
                             .max_length = 6,
                             .delimiters = DelimitersOf(model->config()),
                             .forbidden = {3, 7},
                             .sampling = {.temperature = 2.0f, .top_p = 0.8f},
                             .seed = 77,
                             .step = 4};

  SampledThoughts Sample(int threads = 1) const {
    ThreadPool pool(threads);
    return SampleThoughts(model->decoder(), texts, options, pool);
  }
};

bool Same(const SampledThought& a, const SampledThought& b) {
  return a.thought == b.thought && a.sample == b.sample && a.logprobs == b.logprobs && a.entropies == b.entropies &&
         a.behaviour_logprobs == b.behaviour_logprobs;
}

void ExpectSame(const SampledThoughts& a, const SampledThoughts& b) {
  ASSERT_EQ(a.by_text.size(), b.by_text.size());
  for (size_t t = 0; t < a.by_text.size(); ++t) {
    ASSERT_EQ(a.by_text[t].size(), b.by_text[t].size());
    for (size_t i = 0; i < a.by_text[t].size(); ++i) EXPECT_TRUE(Same(a.by_text[t][i], b.by_text[t][i])) << t << i;
  }
}

TEST(ThoughtSamplerTest, AllPositionsAtOnceHaveTheBitsOfOneAfterTheOther) {
  const Problem problem;
  const SampledThoughts together = problem.Sample();
  ThreadPool pool(1);
  for (size_t t = 0; t < problem.texts.size(); ++t) {
    size_t next = 0;
    for (const int64_t position : problem.texts[t].positions) {
      // Only the text up to the position, one thought at a time.
      ThinkingText alone = problem.texts[t];
      alone.tokens = alone.tokens.first(static_cast<size_t>(position + 1));
      alone.positions = {position};
      ThoughtSampling options = problem.options;
      options.slots = 1;
      const SampledThoughts of_position = SampleThoughts(problem.model->decoder(), {&alone, 1}, options, pool);
      for (const SampledThought& thought : of_position.by_text[0]) {
        EXPECT_TRUE(Same(thought, together.by_text[t][next++])) << t << " " << position;
      }
    }
    EXPECT_EQ(next, together.by_text[t].size());
  }
}

TEST(ThoughtSamplerTest, SlotsThreadsAndMemoryChangeNoBit) {
  Problem problem;
  const SampledThoughts expected = problem.Sample();
  ExpectSame(problem.Sample(3), expected);
  ThoughtMemory memory;
  ThreadPool pool(2);
  for (const int64_t slots : {1, 4, 7, 20, 21, 22, 100}) {
    problem.options.slots = slots;
    ExpectSame(SampleThoughts(problem.model->decoder(), problem.texts, problem.options, pool, &memory), expected);
  }
}

TEST(ThoughtSamplerTest, ThoughtsDependOnTheirDraws) {
  Problem problem;
  const SampledThoughts first = problem.Sample();
  std::set<std::vector<int32_t>> distinct;
  for (const SampledThought& thought : first.by_text[0]) distinct.insert(thought.thought.tokens);
  EXPECT_GT(distinct.size(), 15u);
  const auto differs = [&](const char* what) {
    const SampledThoughts other = problem.Sample();
    EXPECT_FALSE(Same(other.by_text[1][0], first.by_text[1][0]) && Same(other.by_text[1][4], first.by_text[1][4]))
        << what;
  };
  problem.options.seed = 78;
  differs("seed");
  problem.options.seed = 77, problem.options.step = 5;
  differs("step");
  problem.options.step = 4, problem.options.purpose = kEvaluationThought;
  differs("purpose");
  problem.options.purpose = kThought, problem.texts[1].index = 7;
  differs("text");
}

TEST(ThoughtSamplerTest, LengthsAreUniformAndSharedByAPosition) {
  Problem problem;
  std::vector<int64_t> count_L(7);
  for (int64_t position = 0; position < 1000; ++position) {
    const int64_t length = ThoughtLength(problem.options, 5, position);
    ASSERT_TRUE(length >= 2 && length <= 6);
    ++count_L[length];
  }
  for (size_t length = 2; length <= 6; ++length) EXPECT_NEAR(static_cast<double>(count_L[length]), 200.0, 50.0);
  const SampledThoughts sampled = problem.Sample();
  for (const SampledThought& thought : sampled.by_text[0]) {
    EXPECT_EQ(static_cast<int64_t>(thought.thought.tokens.size()),
              ThoughtLength(problem.options, 5, thought.thought.position));
  }
}

TEST(ThoughtSamplerTest, DelimitersAndForbiddenTokensAreNeverDrawn) {
  Problem problem;
  // Without filters, at a temperature that makes all tokens about equally likely.
  problem.options.sampling = {.temperature = 50.0f};
  problem.options.num_thoughts = 40;
  std::set<int32_t> drawn;
  const SampledThoughts sampled = problem.Sample();
  for (const SampledThought& thought : sampled.by_text[0]) {
    drawn.insert(thought.thought.tokens.begin(), thought.thought.tokens.end());
  }
  EXPECT_EQ(static_cast<int64_t>(drawn.size()), problem.model->config().vocab_size - 4);
  for (const int32_t token : {3, 7, problem.options.delimiters.start, problem.options.delimiters.end}) {
    EXPECT_FALSE(drawn.contains(token)) << token;
  }
}

TEST(ThoughtSamplerTest, ANucleusKeepsTheFirstTokenAtLeast) {
  Problem problem;
  problem.options.sampling.top_p = 1e-6f;
  const SampledThoughts nucleus = problem.Sample();
  problem.options.sampling = {.temperature = 2.0f, .greedy = true};
  const SampledThoughts greedy = problem.Sample();
  for (size_t i = 0; i < nucleus.by_text[0].size(); ++i) {
    EXPECT_EQ(nucleus.by_text[0][i].thought, greedy.by_text[0][i].thought);
    EXPECT_EQ(nucleus.by_text[0][i].logprobs, greedy.by_text[0][i].logprobs);
    for (const float logprob : nucleus.by_text[0][i].behaviour_logprobs) EXPECT_EQ(logprob, 0.0f);
  }
}

// P3: what sampling reports is what training computes, bit for bit.
TEST(ThoughtSamplerTest, LogProbabilitiesAreThoseOfTraining) {
  const Problem problem;
  const SampledThoughts sampled = problem.Sample();
  std::vector<std::vector<Thought>> thoughts(2);
  std::vector<ThoughtfulText> texts;
  for (size_t t = 0; t < 2; ++t) {
    for (const SampledThought& thought : sampled.by_text[t]) thoughts[t].push_back(thought.thought);
    texts.push_back({problem.tokens[t], thoughts[t]});
  }
  const ThoughtPassOptions options = {problem.options.delimiters, 3, problem.options.sampling.temperature};
  const ThoughtNetwork network = {problem.model->decoder(), problem.model->heads()};
  for (const int64_t max_rows : {0, 50}) {
    ThoughtWorkspace work(problem.model->config(), max_rows, false, Team());
    const auto receive = [&](int64_t text, const ThoughtScores& scores) {
      size_t at = 0;
      for (const SampledThought& thought : sampled.by_text[text]) {
        for (size_t i = 0; i < thought.logprobs.size(); ++i, ++at) {
          EXPECT_EQ(scores.logprob_T[at], thought.logprobs[i]);
          EXPECT_EQ(scores.entropy_T[at], thought.entropies[i]);
        }
      }
      EXPECT_EQ(at, scores.logprob_T.size());
    };
    ScoreThoughts(network, texts, options, receive, &work);
    const auto behaviour = ScoreThoughtBehaviour(network, texts, options, problem.options, &work);
    bool is_filtered = false;
    for (size_t t = 0; t < 2; ++t) {
      size_t at = 0;
      for (const SampledThought& thought : sampled.by_text[t]) {
        for (size_t i = 0; i < thought.logprobs.size(); ++i, ++at) {
          EXPECT_EQ(behaviour[t][at], thought.behaviour_logprobs[i]);
          is_filtered = is_filtered || thought.behaviour_logprobs[i] != thought.logprobs[i];
        }
      }
    }
    EXPECT_TRUE(is_filtered);
  }
  // A forbidden token is never drawn.
  thoughts[0][0].tokens[0] = 7;
  ThoughtWorkspace work(problem.model->config(), 0, false, Team());
  EXPECT_EQ(ScoreThoughtBehaviour(network, texts, options, problem.options, &work)[0][0],
            -std::numeric_limits<float>::infinity());
}

TEST(ThinkingTokensTest, NewRowsHaveTheMeanAndDeviationOfTheOthers) {
  DecoderConfig config = SmallConfig();
  config.vocab_size = 400;
  config.hidden_size = 400;
  const DecoderConfig grown = WithThinkingTokens(config);
  EXPECT_EQ(grown.vocab_size, 408);
  EXPECT_EQ(DelimitersOf(grown), (ThoughtDelimiters{400, 401}));
  EXPECT_EQ(ThinkingTokenIds(grown).back(), 407);
  const DecoderLayout from_layout = MakeDecoderLayout(config), layout = MakeDecoderLayout(grown);
  std::vector<float> from(static_cast<size_t>(from_layout.total)), to(static_cast<size_t>(layout.total));
  InitializeParameters(config, from_layout, 3, absl::MakeSpan(from));
  for (int64_t i = 0; i < 400 * 400; ++i) from[i] += 0.5f;
  CopyParameters(from_layout, from, layout, absl::MakeSpan(to));
  InitializeThinkingTokens(grown, layout, 9, /*like_token=*/-1, absl::MakeSpan(to));
  for (size_t i = 0; i < 400 * 400; ++i) ASSERT_EQ(to[i], from[i]);
  double sum = 0, squares = 0;
  for (size_t i = 400 * 400; i < 408 * 400; ++i) {
    sum += static_cast<double>(to[i]);
    squares += static_cast<double>(to[i]) * static_cast<double>(to[i]);
  }
  const double mean = sum / 3200, deviation = std::sqrt(squares / 3200 - mean * mean);
  EXPECT_NEAR(mean, 0.5, 0.03);
  EXPECT_NEAR(deviation, 0.3, 0.015);  // initializer_range
  const ParameterSpec& head = layout.specs[layout.lm_head];
  EXPECT_NE(to[head.offset + head.size - 1], 0.0f);
  // The delimiters may begin as another token.
  std::vector<float> like = to;
  InitializeThinkingTokens(grown, layout, 9, /*like_token=*/13, absl::MakeSpan(like));
  for (size_t d = 0; d < 400; ++d) {
    EXPECT_EQ(like[400 * 400 + d], like[13 * 400 + d]);
    EXPECT_EQ(like[401 * 400 + d], like[13 * 400 + d]);
    EXPECT_EQ(like[402 * 400 + d], to[402 * 400 + d]);
  }
}

TEST(ThoughtModelTest, ANewModelPredictsAsIfItDidNotThink) {
  const auto model = *ThoughtModel::Create(WithThinkingTokens(SmallConfig()), {}, /*training=*/true);
  model->InitializeDecoder(1);
  model->InitializeHeads(1);
  ThreadPool pool(1);
  model->Refresh(pool);
  const testing::ThoughtExamples examples(SmallConfig(), {7});
  ThoughtWorkspace work(model->config(), 0, false, Team());
  const ThoughtPassOptions options = {DelimitersOf(model->config()), 1, 1.0f};
  const auto receive = [&](int64_t, const ThoughtScores& scores) {
    size_t a = 0;
    for (const Thought& thought : examples.texts()[0].thoughts) {
      EXPECT_EQ(scores.weight_A[a], 0.0f);
      EXPECT_EQ(scores.mixed_logprob_A[a++], scores.base_logprob_S[thought.position]);
    }
  };
  ScoreThoughts({model->decoder(), model->heads()}, examples.texts(), options, receive, &work);
}

TEST(ThoughtModelTest, AFrozenCopyComputesTheSameAndIsNotChanged) {
  const auto model = RandomThoughtModel(SmallConfig(), {.has_values = true, .value_hidden = {5}}, 3);
  const auto copy = model->FrozenCopy();
  EXPECT_TRUE(copy->SharesWith(*model));
  EXPECT_EQ(copy->layout().total, model->layout().policy_total);
  const testing::ThoughtExamples examples(SmallConfig(), {7});
  ThoughtWorkspace work(model->config(), 0, false, Team());
  const ThoughtPassOptions options = {DelimitersOf(model->config()), 2, 1.0f};
  const auto scores_of = [&](const ThoughtModel& of) {
    ThoughtScores scores;
    ScoreThoughts(
        {of.decoder(), of.heads()}, examples.texts(), options,
        [&](int64_t, const ThoughtScores& received) { scores = received; }, &work);
    return scores.mixed_logprob_A;
  };
  const std::vector<float> before = scores_of(*model);
  EXPECT_EQ(scores_of(*copy), before);
  for (float& parameter : model->mutable_parameters()) parameter *= 1.5f;
  ThreadPool pool(1);
  model->Refresh(pool);
  EXPECT_NE(scores_of(*model), before);
  EXPECT_EQ(scores_of(*copy), before);
  copy->MoveTowards(*model, 1.0, pool);
  EXPECT_EQ(scores_of(*copy), scores_of(*model));
}

}  // namespace
}  // namespace reprise::models
