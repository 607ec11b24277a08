#include "rl/workloads/quiet_star/section/quiet_star_section.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

constexpr absl::string_view kInjected = "quiet_star.positions difficult";
constexpr absl::string_view kAttention = "quiet_star.mixing attention";
constexpr absl::string_view kTheater = "quiet_star.anti_theater true";

using config::Between;

constexpr int64_t kMostSteps = (int64_t{1} << 32) - 1;
constexpr int64_t kMostTokens = int64_t{1} << 16;  // of a thought, and positions that a draw can name
constexpr int64_t kWidest = int64_t{1} << 16;
constexpr size_t kMostLayers = 16;
constexpr config::DoubleRange kWeight = {.low = 1e-9, .high = 1e9, .or_exactly = 0};
constexpr config::DoubleRange kShare = {.low = 0, .high = 1};

void VisitThinking(config::FieldList& list, QuietStarConfig& quiet_star) {
  list.Name("positions", quiet_star.positions, {"every", "difficult", "answer"},
            "After which tokens of a text the model thinks: every one; those whose successor it finds difficult "
            "(injection_threshold); or those whose successor is a token of the answer.");
  list.Double("injection_threshold", quiet_star.injection_threshold, kShare,
              "It thinks where the difficulty exceeds this. The difficulty is the entropy "
              "of the next token, as a share of the greatest, its loss, and with attention_dispersion how far the "
              "attention is spread: weighted 4, 3 and 3, between 0 and 1. Evaluations leave out the loss, for which "
              "they would have to know the answer.")
      .ReadIf([&quiet_star] { return quiet_star.positions == ThoughtPositions::kDifficult; }, kInjected);
  list.Int("injection_interval", quiet_star.injection_interval, Between(1, kMostTokens),
           "Tokens from one such position to the next, at least.")
      .ReadIf([&quiet_star] { return quiet_star.positions == ThoughtPositions::kDifficult; }, kInjected);
  list.Bool("attention_dispersion", quiet_star.attention_dispersion,
            "Whether the difficulty has a term of the attention: its entropy in the last "
            "layer, as a share of the greatest, mean over heads.")
      .ReadIf([&quiet_star] { return quiet_star.positions == ThoughtPositions::kDifficult; }, kInjected);
  list.Int("min_thought_length", quiet_star.min_thought_length, Between(1, kMostTokens),
           "Tokens of a thought, without its delimiters, at least; each length up to the greatest is equally likely.");
  list.Int("max_thought_length", quiet_star.max_thought_length, Between(1, kMostTokens), "The same at most.");
  list.String("delimiters_like", quiet_star.delimiters_like,
              "A text of one token whose rows of the embedding and the output layer the thoughts' delimiters begin "
              "with; empty = they are drawn, as those of the other thinking tokens.");
  list.Double("delimiter_gradient_weight", quiet_star.delimiter_gradient_weight, {.low = 1e-6, .high = 1e6},
              "Factor of the gradient of the delimiters' embeddings.");
  list.Name(
      "mixing", quiet_star.mixing, {"scalar", "attention"},
      "How a thought changes what is predicted: scalar, a network of three layers gives the weight of the "
      "thought's hidden state against the text's; attention, a gated attention from the text's to the thought's.");
  list.Bool("bounded_mixing", quiet_star.bounded_mixing,
            "Whether the weight is within 0 and 1, and 1/2 at first; else it is any number, and 0.")
      .ReadIf([&quiet_star] { return quiet_star.mixing == ThoughtMixing::kScalar; }, "quiet_star.mixing scalar");
  list.Int("mixing_heads", quiet_star.mixing_heads, Between(1, 4096), "Heads; they divide the model's width.")
      .ReadIf([&quiet_star] { return quiet_star.mixing == ThoughtMixing::kAttention; }, kAttention);
  list.Double("mixing_dropout", quiet_star.mixing_dropout, {.low = 0, .high = 0.99},
              "Share of its probabilities that are dropped in training.")
      .ReadIf([&quiet_star] { return quiet_star.mixing == ThoughtMixing::kAttention; }, kAttention);
}

void VisitRewards(config::FieldList& list, QuietStarConfig& quiet_star, const ThoughtConditions& when) {
  list.Int("tokens_ahead", quiet_star.tokens_ahead, Between(1, kMostTokens),
           "Tokens of the text behind a thought by whose log-probability it is rewarded.");
  list.Name("reward", quiet_star.reward, {"non_myopic", "graded", "binary"},
            "The reward of a thought: non_myopic, the log-probability of those tokens, less its mean over the thoughts "
            "of the same position; graded, less that without a thought; binary, 1 where more of them are predicted "
            "correctly than without a thought, else 0.");
  list.Bool("clamp_rewards", quiet_star.clamp_rewards, "Whether negative rewards are replaced by 0.")
      .ReadIf([&quiet_star] { return quiet_star.reward != ThoughtReward::kBinary; },
              "quiet_star.reward non_myopic or graded: a binary one is never negative");
  list.Double("reward_weight", quiet_star.reward_weight, {.low = 1e-9, .high = 1e9},
              "Factor of the rewards, and so of the thoughts' part of the loss.");
  list.Double("base_weight", quiet_star.base_weight, kWeight,
              "Weight of the texts' cross-entropy without thoughts: mean over the counted tokens of a step.");
  list.Double("talk_weight", quiet_star.talk_weight, kWeight,
              "Weight of their cross-entropy with thoughts: mean over the counted tokens behind all thoughts of a "
              "step.");
  list.Name("counted", quiet_star.counted, {"text", "answer"},
            "Which tokens these two are of: all of the text but the first, or those behind the question.");
  list.String("value_hidden", quiet_star.value_hidden, "Widths of the value function's hidden layers; empty = none.")
      .ReadIf(when.values.holds, when.values.needs);
  list.Bool("values_train_decoder", quiet_star.values_train_decoder,
            "Whether its loss also trains the hidden states that it reads.")
      .ReadIf(when.values.holds, when.values.needs);
  list.Name("kl_direction", quiet_star.kl_direction, {"policy_from_copy", "copy_from_policy"},
            "Policy_from_copy, KL(policy || copy); copy_from_policy, KL(copy || policy), which "
            "keeps what the copy finds probable. The copy is made after the SFT phase.")
      .ReadIf(when.exact_divergence.holds, when.exact_divergence.needs);
}

void VisitChecks(config::FieldList& list, QuietStarConfig& quiet_star, const ThoughtConditions& when) {
  list.Double("plain_share", quiet_star.plain_share, kShare,
              "Share of the SFT phase's texts that have no thought; the others have one before their answer, in one of "
              "seven forms (docs/quiet_star.md).")
      .ReadIf(when.sft.holds, when.sft.needs);
  list.Int("baking_examples", quiet_star.baking_examples, Between(0, int64_t{1} << 24),
           "Texts of the SFT phase, which are repeated in another order; 0 = every text is a new one.")
      .ReadIf(when.sft.holds, when.sft.needs);
  list.Double("baking_convergence", quiet_star.baking_convergence, kShare,
              "The SFT phase ends as soon as the share of counted tokens that the model predicts without thoughts "
              "(text_accuracy), mean over the last baking_window steps, has reached this; 0 = after sft.steps.")
      .ReadIf(when.sft.holds, when.sft.needs);
  list.Int("baking_window", quiet_star.baking_window, Between(1, int64_t{1} << 16),
           "Steps of the SFT phase whose mean baking_convergence is compared with; it takes as many at least.")
      .ReadIf([&quiet_star, has_sft = when.sft.holds] { return has_sft() && quiet_star.baking_convergence > 0; },
              "sft.steps and quiet_star.baking_convergence above 0");
  list.Bool("anti_theater", quiet_star.anti_theater,
            "Whether evaluations also test whether thoughts matter (docs/quiet_star.md).");
  list.Double("anti_theater_divergence", quiet_star.theater.divergence, kShare,
              "Threshold of the edit distance between continuations with and without thoughts, as a share of their "
              "length.")
      .ReadIf([&quiet_star] { return quiet_star.anti_theater; }, kTheater);
  list.Double("anti_theater_ablation", quiet_star.theater.ablation, {.low = -1, .high = 1},
              "Threshold of the accuracy with thoughts less that without.")
      .ReadIf([&quiet_star] { return quiet_star.anti_theater; }, kTheater);
  list.Double("anti_theater_correlation", quiet_star.theater.correlation, {.low = -1, .high = 1},
              "Threshold of the correlation between a text's coherence and its accuracy.")
      .ReadIf([&quiet_star] { return quiet_star.anti_theater; }, kTheater);
  list.Int("continuation_tokens", quiet_star.theater.continuation_tokens, Between(1, kMostTokens),
           "Tokens of those continuations; a text with less room for them is left out.")
      .ReadIf([&quiet_star] { return quiet_star.anti_theater; }, kTheater);
  list.Int("anti_theater_patience", quiet_star.anti_theater_patience, Between(0, kMostSteps),
           "The run ends after this many evaluations in a row in which not all of these tests pass; 0 = never.")
      .ReadIf([&quiet_star] { return quiet_star.anti_theater; }, kTheater);
  list.Bool("paper_metrics", quiet_star.paper_metrics,
            "Whether steps also report the thirteen metrics rl/... of the published trainer (docs/quiet_star.md).");
}

}  // namespace

void VisitQuietStar(config::FieldList& list, QuietStarConfig& quiet_star, const ThoughtConditions& when) {
  list.Section("quiet_star", config::Kind::kSemantic,
               "A language model that thinks between the tokens of a text (run.workload quiet_star): thoughts are "
               "sampled, and rewarded by how much they help to predict the text. rollout.num_generations is the number "
               "of thoughts at a position.")
      .OnlyFor(when.scope);
  VisitThinking(list, quiet_star);
  VisitRewards(list, quiet_star, when);
  VisitChecks(list, quiet_star, when);
}

bool ShapesThoughtPolicy(absl::string_view section, absl::string_view key) {
  if (section != "quiet_star") return false;
  for (const absl::string_view each :
       {"delimiters_like", "delimiter_gradient_weight", "mixing", "bounded_mixing", "mixing_heads", "mixing_dropout",
        "value_hidden", "values_train_decoder", "base_weight", "talk_weight", "counted", "kl_direction"}) {
    if (key == each) return true;
  }
  return false;
}

absl::StatusOr<std::vector<int64_t>> ValueWidths(const QuietStarConfig& quiet_star) {
  std::vector<int64_t> widths;
  for (const absl::string_view word : absl::StrSplit(quiet_star.value_hidden, ' ', absl::SkipEmpty())) {
    int64_t width = 0;
    if (!absl::SimpleAtoi(word, &width) || width < 1 || width > kWidest || widths.size() == kMostLayers) {
      return absl::InvalidArgumentError(absl::StrCat("quiet_star.value_hidden: \"", Printable(word),
                                                     "\" is not a width from 1 to ", kWidest, " of one of at most ",
                                                     kMostLayers, " layers; write them as \"256 256\""));
    }
    widths.push_back(width);
  }
  return widths;
}

std::vector<std::string> ThoughtScoreNames(const QuietStarConfig& quiet_star) {
  std::vector<std::string> names = {"eval_thoughts/accuracy", "eval_thoughts/accuracy_without", "eval_thoughts/gain",
                                    "eval_thoughts/loss", "eval_thoughts/loss_without"};
  if (quiet_star.anti_theater) {
    for (const absl::string_view name : {"ablation", "correlation", "all_passed"}) {
      names.push_back(absl::StrCat("eval_anti_theater_", name));
    }
  }
  return names;
}

WorkloadTrends ThoughtTrends(const QuietStarConfig& quiet_star) {
  WorkloadTrends trends = {.averages_rewards = quiet_star.paper_metrics};
  if (quiet_star.anti_theater) {
    trends.failures = {"eval_anti_theater_all_passed", "eval_anti_theater_failures", quiet_star.anti_theater_patience};
  }
  if (quiet_star.baking_convergence > 0) {
    trends.sft = {"text_accuracy", quiet_star.baking_convergence, quiet_star.baking_window};
  }
  return trends;
}

}  // namespace reprise::rl
