#include "rl/policy/thoughts/thought_policy.h"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "models/quiet_star/thinking_tokens.h"
#include "models/quiet_star/thought_testing.h"

namespace reprise::rl {
namespace {

using models::Thought;

constexpr int64_t kAhead = 3;
constexpr float kTemperature = 1.5f;

std::unique_ptr<ThoughtPolicy> RandomPolicy(uint64_t seed, double balance = 0.3) {
  models::DecoderConfig config = models::testing::SmallConfig();
  config.router_aux_loss_coef = balance;
  auto model = models::testing::RandomThoughtModel(config, {.has_values = true, .value_hidden = {6}}, seed);
  ThoughtPolicyOptions options = {.tokens_ahead = kAhead, .base_nll_coef = 0.4, .mixed_nll_coef = 0.7};
  options.sampling.delimiters = models::DelimitersOf(model->config());
  options.sampling.sampling = {.temperature = kTemperature, .top_p = 0.9f};
  return std::make_unique<ThoughtPolicy>(std::move(model), options);
}

// Two texts, each with two samples of thoughts; of the first text, only its last three tokens count.
class Shard {
 public:
  explicit Shard(bool predicts_text = false) : task_P_(2), episode_N_(4) {
    const models::DecoderConfig config = models::testing::SmallConfig();
    for (size_t p = 0; p < 2; ++p) {
      TextToThinkAbout text = {models::testing::RandomTokens(config, 10 + p, p == 0 ? 9 : 6)};
      if (p == 0) text.counts_S = {0, 0, 0, 0, 0, 0, 1, 1, 1};
      task_P_[p].prompt = static_cast<int64_t>(p);
      task_P_[p].content = text;
      for (size_t g = 0; g < 2; ++g) {
        ThoughtsOfSample thoughts = {.predicts_text = predicts_text};
        // The second sample does not think at position 3.
        for (const int64_t position : std::vector<int64_t>{0, 3, 4}) {
          if (predicts_text || (g == 1 && position == 3)) continue;
          const uint64_t seed = 100 * p + 10 * g + static_cast<uint64_t>(position);
          thoughts.thought_P.push_back({position, models::testing::RandomTokens(config, seed, 1 + position % 3)});
        }
        EpisodeRecord& episode = episode_N_[2 * p + g];
        episode.terminated = true;
        episode.decisions = MakeDecisions(thoughts, text);
        episode.content = thoughts;
      }
      const int64_t first = static_cast<int64_t>(2 * p);
      input_.push_back({&task_P_[p], {&episode_N_[2 * p], &episode_N_[2 * p + 1]}, {first, first + 1}});
    }
  }
  Shard(const Shard&) = delete;

  const ShardInput& input() const { return input_; }
  const std::vector<TaskRecord>& tasks() const { return task_P_; }
  const std::vector<EpisodeRecord>& episodes() const { return episode_N_; }

 private:
  std::vector<TaskRecord> task_P_;
  std::vector<EpisodeRecord> episode_N_;
  ShardInput input_;
};

float WeightOf(int64_t episode, size_t t) {
  return 0.2f * static_cast<float>((episode + 2 * static_cast<int64_t>(t)) % 5) - 0.3f;
}

struct Pass {
  std::vector<std::vector<float>> logprob_NT, divergence_NT, value_NT;
  std::vector<float> gradient;
  PassResult result;
};

PassTotals ComputeTotals(const ThoughtPolicy& policy, const ShardInput& shard) {
  const int64_t rows = policy.RowsOf(shard);
  return {2 * rows, rows, policy.CountShard(shard, policy.NewWorkspace({}, Team()).get()), true};
}

Pass RunPass(const ThoughtPolicy& policy, const ShardInput& shard, const PassMemory& memory = {},
             const Policy* reference = nullptr, bool with_values = true) {
  Pass pass;
  const EpisodeLoss loss = [&](int64_t episode, const DecisionScores& scores, const DecisionGradients& gradients) {
    EXPECT_EQ(episode, static_cast<int64_t>(pass.logprob_NT.size()));
    pass.logprob_NT.emplace_back(scores.logprob_T.begin(), scores.logprob_T.end());
    pass.divergence_NT.emplace_back(scores.divergence_T.begin(), scores.divergence_T.end());
    for (size_t t = 0; t < scores.logprob_T.size(); ++t) {
      gradients.dlogprob_T[t] = WeightOf(episode, t);
      gradients.dentropy_T[t] = 0.1f;
      if (!scores.divergence_T.empty()) gradients.ddivergence_T[t] = 0.3f;
    }
    return absl::OkStatus();
  };
  const EpisodeValueLoss values = [&](int64_t, absl::Span<const float> value_T, absl::Span<float> dvalue_T) {
    pass.value_NT.emplace_back(value_T.begin(), value_T.end());
    for (size_t t = 0; t < value_T.size(); ++t) dvalue_T[t] = 0.5f;
    return absl::OkStatus();
  };
  const PassTotals totals = ComputeTotals(policy, shard);
  std::vector<float> total(static_cast<size_t>(policy.layout().total), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> open = total;
  const auto workspace = policy.NewWorkspace(memory, Team());
  const auto result = policy.Accumulate({.temperature = kTemperature,
                                         .totals = totals,
                                         .loss = loss,
                                         .value_loss = with_values ? values : nullptr,
                                         .reference = reference},
                                        shard, {total.data(), open.data()}, workspace.get());
  EXPECT_OK(result);
  pass.result = *result;
  for (const ParameterSpec& spec : policy.layout().specs) {
    pass.gradient.insert(pass.gradient.end(), total.begin() + spec.offset, total.begin() + spec.offset + spec.size);
  }
  return pass;
}

TEST(ThoughtGroupTest, OrdersThoughtsByPositionAndThenBySample) {
  const Shard shard;
  const ThoughtGroup group(shard.input()[0]);
  const auto thoughts = group.view().thoughts;
  ASSERT_EQ(thoughts.size(), 5u);
  const ThoughtsOfSample &first = ThoughtsIn(shard.episodes()[0], group.text()),
                         &second = ThoughtsIn(shard.episodes()[1], group.text());
  EXPECT_EQ(thoughts[0], first.thought_P[0]);
  EXPECT_EQ(thoughts[1], second.thought_P[0]);
  EXPECT_EQ(thoughts[2], first.thought_P[1]);
  EXPECT_EQ(thoughts[3], first.thought_P[2]);
  EXPECT_EQ(thoughts[4], second.thought_P[1]);
  // Tokens in the pass's order: 1 of position 0, 1 of 0, 1 of 3, 2 of 4, 2 of 4.
  const std::vector<float> number_T = {0, 1, 2, 3, 4, 5, 6}, number_M = {10, 20, 30};
  EXPECT_EQ(group.OfEpisode(0, number_T), (std::vector<float>{0, 2, 3, 4}));
  EXPECT_EQ(group.OfEpisode(1, number_T), (std::vector<float>{1, 5, 6}));
  EXPECT_EQ(group.OfPositions(1, number_M), (std::vector<float>{10, 30, 30}));
  std::vector<float> back(7), sums(3);
  for (size_t g = 0; g < 2; ++g) {
    group.ToPass(g, group.OfEpisode(g, number_T), absl::MakeSpan(back));
    group.AddToPositions(g, group.OfPositions(g, number_M), absl::MakeSpan(sums));
  }
  EXPECT_EQ(back, number_T);
  EXPECT_EQ(sums, (std::vector<float>{20, 20, 120}));
  EXPECT_EQ(shard.episodes()[1].decisions.turn_T, (std::vector<int32_t>{0, 1, 1}));
}

TEST(ThoughtPolicyTest, TheGradientIsThatOfTheSumOfLossesOnTheTexts) {
  const auto policy = RandomPolicy(3, /*balance=*/0);
  const Shard shard;
  const Pass pass = RunPass(*policy, shard.input());
  const PassTotals totals = ComputeTotals(*policy, shard.input());
  ASSERT_EQ(totals.count_C.size(), policy->num_counts());
  const int64_t text_tokens = totals.count_C[policy->num_counts() - 2], mixed_tokens = totals.count_C.back();
  EXPECT_EQ(text_tokens, 3 + 5);
  // Of the first text tokens 6, 7 and 8 count; thoughts at 3 and 4 predict tokens 4, 5, 6 and 5, 6, 7.
  EXPECT_EQ(mixed_tokens, 1 + 2 * 2 + 2 * 3 + 1 * 2 + 2 * 1);
  // The same loss on the passes of models/quiet_star.
  const float text_weight = static_cast<float>(0.4 * 2 / static_cast<double>(text_tokens)),
              mixed_weight = static_cast<float>(0.7 * 2 / static_cast<double>(mixed_tokens));
  std::vector<ThoughtGroup> groups;
  std::vector<models::ThoughtfulText> texts;
  for (const EpisodeGroup& group : shard.input()) groups.emplace_back(group);
  for (const ThoughtGroup& group : groups) texts.push_back(group.view());
  const models::ThoughtLoss loss = [&](int64_t text, const models::ThoughtScores&,
                                       models::ThoughtGradients* gradients) {
    const ThoughtGroup& group = groups[text];
    for (size_t g = 0; g < 2; ++g) {
      std::vector<float> weights(group.OfEpisode(g, gradients->dlogprob_T).size());
      for (size_t t = 0; t < weights.size(); ++t) weights[t] = WeightOf(2 * text + static_cast<int64_t>(g), t);
      group.ToPass(g, weights, absl::MakeSpan(gradients->dlogprob_T));
      for (const Thought& thought :
           ThoughtsIn(shard.episodes()[static_cast<size_t>(2 * text) + g], group.text()).thought_P) {
        const size_t position = thought.position == 0 ? 0 : thought.position == 3 ? 1 : 2;
        gradients->dvalue_M[position] += 0.5f * static_cast<float>(thought.tokens.size());
      }
    }
    for (float& d : gradients->dentropy_T) d = 0.1f;
    const int64_t tokens = static_cast<int64_t>(group.text().token_S.size());
    for (int64_t s = 1; s < tokens; ++s) {
      if (group.text().Counts(s)) gradients->dbase_logprob_S[s - 1] = -text_weight;
    }
    size_t a = 0;
    for (const Thought& thought : texts[text].thoughts) {
      for (int64_t s = thought.position + 1; s <= thought.position + kAhead && s < tokens; ++s, ++a) {
        if (group.text().Counts(s)) gradients->dmixed_logprob_A[a] = -mixed_weight;
      }
    }
    return absl::OkStatus();
  };
  std::vector<float> total(static_cast<size_t>(policy->layout().total));
  models::ThoughtWorkspace work(policy->model().config(), 0, false, Team());
  const models::AuxiliaryGradient none;
  ASSERT_OK(models::AccumulateThoughts(policy->network(), texts,
                                       {policy->options().sampling.delimiters, kAhead, kTemperature},
                                       {nullptr, none, loss}, {total.data()}, &work));
  size_t at = 0;
  for (const ParameterSpec& spec : policy->layout().specs) {
    for (int64_t i = 0; i < spec.size; ++i) {
      EXPECT_EQ(pass.gradient[at++], total[spec.offset + i]) << spec.name;
    }
  }
}

TEST(ThoughtPolicyTest, MemoryChangesNoBitAndScoresAreThoseOfTheLoss) {
  const auto policy = RandomPolicy(3), other = RandomPolicy(4);
  const auto reference = other->FrozenCopy();
  const Shard shard;
  const Pass expected = RunPass(*policy, shard.input(), {}, reference.get());
  EXPECT_GT(expected.divergence_NT[0][0], 0.0f);
  for (const PassMemory& memory : {PassMemory{1, false}, PassMemory{30, true}, PassMemory{60, false}}) {
    const Pass pass = RunPass(*policy, shard.input(), memory, reference.get());
    EXPECT_GT(pass.result.counts.micro_batches, 1);
    EXPECT_EQ(pass.gradient, expected.gradient);
    EXPECT_EQ(pass.logprob_NT, expected.logprob_NT);
    EXPECT_EQ(pass.divergence_NT, expected.divergence_NT);
    EXPECT_EQ(pass.value_NT, expected.value_NT);
    EXPECT_EQ(pass.result.sum_M, expected.result.sum_M);
  }
  EXPECT_NE(RunPass(*policy, shard.input(), {}, nullptr).gradient, expected.gradient);
  const auto workspace = policy->NewWorkspace({30, false}, Team());
  size_t next = 0;
  policy->Score(
      shard.input(), kTemperature,
      [&](int64_t episode, absl::Span<const float> logprob_T, absl::Span<const float>) {
        ASSERT_EQ(episode, static_cast<int64_t>(next));
        EXPECT_EQ(std::vector<float>(logprob_T.begin(), logprob_T.end()), expected.logprob_NT[next++]);
      },
      workspace.get());
  EXPECT_EQ(next, 4u);
  next = 0;
  policy->PredictValues(
      shard.input(), /*after_truncation=*/true,
      [&](int64_t, absl::Span<const float> value_T) {
        EXPECT_EQ(std::vector<float>(value_T.begin(), value_T.end()), expected.value_NT[next++]);
      },
      workspace.get());
  EXPECT_EQ(next, 4u);
}

TEST(ThoughtPolicyTest, ASftLearnsTheTextItself) {
  const auto policy = RandomPolicy(3, /*balance=*/0);
  const Shard text(/*predicts_text=*/true);
  EXPECT_EQ(text.episodes()[0].decisions.count, 8);
  EXPECT_EQ(text.episodes()[0].decisions.learned_T, (std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 1, 1}));
  const Pass pass = RunPass(*policy, text.input());
  const Shard thoughts;
  std::vector<float> base;
  policy->ScoreGroups(
      thoughts.input(),
      [&](size_t group, const models::ThoughtScores& scores) {
        if (group == 0) base = scores.base_logprob_S;
      },
      policy->NewWorkspace({}, Team()).get());
  EXPECT_EQ(pass.logprob_NT[0], base);
  EXPECT_EQ(pass.logprob_NT[1], base);
  // Heads learn nothing.
  size_t at = 0;
  bool decoder_learns = false;
  for (const ParameterSpec& spec : policy->layout().specs) {
    const bool is_head = spec.name.starts_with("mixing_head") || spec.name.starts_with("value_head");
    for (int64_t i = 0; i < spec.size; ++i, ++at) {
      EXPECT_TRUE(!is_head || pass.gradient[at] == 0.0f) << spec.name;
      decoder_learns = decoder_learns || pass.gradient[at] != 0;
    }
  }
  EXPECT_TRUE(decoder_learns);
}

TEST(ThoughtPolicyTest, ReportsWhatThoughtsAreWorth) {
  const auto policy = RandomPolicy(3);
  const Shard shard;
  const Pass pass = RunPass(*policy, shard.input());
  PassTotals totals = ComputeTotals(*policy, shard.input());
  totals.step_rows = totals.rows;
  double nll = 0, count = 0;
  policy->ScoreGroups(
      shard.input(),
      [&](size_t group, const models::ThoughtScores& scores) {
        for (size_t s = group == 0 ? 5 : 0; s < scores.base_logprob_S.size(); ++s, ++count) {
          nll -= static_cast<double>(scores.base_logprob_S[s]);
        }
      },
      policy->NewWorkspace({}, Team()).get());
  const Metrics metrics = policy->OwnMetrics(totals, pass.result.sum_M);
  const auto value = [&](const std::string& name) {
    for (const auto& [own, number] : metrics) {
      if (own == name) return number;
    }
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_NEAR(value("text_nll"), nll / count, 1e-12);
  EXPECT_GT(value("mixed_nll"), 0);
  EXPECT_GT(value("aux_loss"), 0);
  EXPECT_GE(value("mixed_accuracy"), 0);
  EXPECT_NE(value("mixing_weight"), 0);
  EXPECT_EQ(metrics.size(), 6u);
}

TEST(ThoughtPolicyTest, AFrozenCopyIsTheReferenceOfItself) {
  const auto policy = RandomPolicy(3);
  const auto reference = policy->FrozenCopy();
  EXPECT_TRUE(reference->SharesWith(*policy));
  EXPECT_EQ(reference->layout().total, policy->FrozenLayout().total);
  EXPECT_NE(reference->parameters().data(), policy->parameters().data());
  const Shard shard;
  const Pass pass = RunPass(*policy, shard.input(), {}, reference.get(), /*with_values=*/false);
  for (const auto& divergence_T : pass.divergence_NT) {
    for (const float divergence : divergence_T) EXPECT_EQ(divergence, 0.0f);
  }
  EXPECT_TRUE(pass.value_NT.empty());
}

TEST(ThoughtPolicyTest, FindsCorruptionOfTheDecoderAndOfTheHeads) {
  const auto policy = RandomPolicy(3);
  const Shard shard;
  const auto found = [&] { return policy->FindCorruption(shard.tasks()[0], shard.episodes()[0]); };
  EXPECT_EQ(found(), "");
  for (const ParameterSpec& spec : policy->layout().specs) {
    if (spec.name != "mixing_head.2.bias" && spec.name != "model.norm.weight") continue;
    float& parameter = policy->mutable_parameters()[spec.offset];
    const float before = parameter;
    parameter = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(found(), ::testing::HasSubstr(spec.name));
    parameter = before + 1;  // finite, but not what was packed
    if (spec.name.starts_with("mixing")) {
      EXPECT_EQ(found(), "a packed copy of the heads' weights");
    }
    parameter = before;
  }
}

TEST(ThoughtPolicyTest, AnEmptyShardHasNoGradient) {
  const auto policy = RandomPolicy(3);
  const Pass pass = RunPass(*policy, {});
  for (const float g : pass.gradient) EXPECT_EQ(g, 0.0f);
}

}  // namespace
}  // namespace reprise::rl
