#include "rl/config/quiet_star_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/config/key_conditions.h"

namespace reprise::rl {
namespace {

absl::Status Reject(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::Status CheckRewards(const Config& config) {
  const QuietStarConfig& quiet_star = config.quiet_star;
  if (quiet_star.reward == ThoughtReward::kNonMyopic && config.rollout.num_generations < 2) {
    return Reject(
        "quiet_star.reward non_myopic compares the thoughts of a position with each other, but "
        "rollout.num_generations 1 gives it a single one: set it to 2 or more, or quiet_star.reward to graded");
  }
  if (quiet_star.reward == ThoughtReward::kNonMyopic && quiet_star.mixing == ThoughtMixing::kAttention) {
    return Reject(
        "quiet_star.mixing attention mixes the thoughts of a position together, so that quiet_star.reward non_myopic, "
        "which compares them with each other, would always be 0: set it to graded or binary");
  }
  const MinibatchUnit unit = config.algorithm.update.unit;
  if (unit != MinibatchUnit::kGroup) {
    return Reject(absl::StrCat("algorithm.minibatches_of ", unit == MinibatchUnit::kEpisode ? "episodes" : "decisions",
                               " divides the thoughts of a text, whose passes and cross-entropy are computed once: "
                               "leave it groups"));
  }
  return absl::OkStatus();
}

// Returns whether advantages are differences between the samples of a prompt, or between steps of these.
bool ComparesSamples(Baseline baseline) {
  return baseline == Baseline::kGroupMean || baseline == Baseline::kLeaveOneOut ||
         baseline == Baseline::kLengthWeighted || baseline == Baseline::kStepGroupMean ||
         baseline == Baseline::kStepLeaveOneOut;
}

absl::Status CheckBaseline(const QuietStarConfig& quiet_star, const AdvantageOptions& advantage) {
  const absl::string_view name = BaselineName(advantage.baseline);
  if (NeedsPromptBaselines(advantage)) {
    return Reject(absl::StrCat("algorithm.baseline ", name,
                               " compares whole episodes, but thoughts are rewarded one by one: choose step_none, "
                               "step_group_mean or value"));
  }
  if (quiet_star.mixing == ThoughtMixing::kAttention && ComparesSamples(advantage.baseline)) {
    return Reject(absl::StrCat(
        "quiet_star.mixing attention mixes the thoughts of a position together, so that they have the same reward, and "
        "algorithm.baseline ",
        name, ", which compares them with each other, would learn nothing from it: set it to step_none or value"));
  }
  return absl::OkStatus();
}

absl::Status CheckAdapters(const LoraSection& lora) {
  if (lora.r == 0 || lora.dropout == 0) return absl::OkStatus();
  return Reject(absl::StrCat("lora.dropout ", lora.dropout,
                             " drops inputs of adapters, which the passes over thoughts do not: set it to 0"));
}

absl::Status CheckLengths(const Config& config) {
  const QuietStarConfig& quiet_star = config.quiet_star;
  if (quiet_star.min_thought_length > quiet_star.max_thought_length) {
    return Reject(absl::StrCat("quiet_star.min_thought_length ", quiet_star.min_thought_length,
                               " is more than quiet_star.max_thought_length ", quiet_star.max_thought_length));
  }
  // A model from a directory has its own positions.
  return config.model.path.empty() ? CheckPositions(config, config.model.max_position_embeddings) : absl::OkStatus();
}

// Returns the most characters of what it helps to write down before the answer (data::Task::hint).
int64_t LongestHint(const DataConfig& data) {
  if (data.task == "addition") return data.max_length + 1;
  if (data.task == "lookup") return std::max<int64_t>(1, data.max_length - 1);
  return 0;
}

bool HasExactDivergence(const Config& config) {
  return HasDivergence(config) && !KlInReward(config.algorithm) &&
         config.algorithm.loss.kl_estimator == KlEstimator::kExact;
}

}  // namespace

void VisitThoughts(config::FieldList& list, Config& config, const Conditions& when, const config::Condition& scope) {
  VisitQuietStar(
      list, config.quiet_star,
      {.scope = scope,
       .values = {.holds = when(HasValues), .needs = std::string(kValue)},
       .sft = {.holds = when(HasSft), .needs = std::string(kSft)},
       .exact_divergence = {.holds = when(HasExactDivergence),
                            .needs = "algorithm.kl_estimator exact, and a divergence in the loss: algorithm.beta above "
                                     "0"}});
}

int64_t LongestText(const DataConfig& data) {
  if (data.task == "addition") return 3 * data.max_length + 3;
  if (data.task == "lookup") {
    return 3 * data.alphabet_size + 3 + static_cast<int64_t>(absl::StrCat(data.max_length).size());
  }
  return 2 * data.max_length + 1;
}

int64_t LongestExample(const Config& config) {
  const int64_t text = LongestText(config.data), hint = LongestHint(config.data);
  if (config.quiet_star.plain_share >= 1) return text;
  // A mark before every character, or one or two before all of them (rl/workloads/quiet_star/baking.h), between
  // delimiters.
  return text + std::max(2 * hint, hint + 2) + 2;
}

absl::Status CheckPositions(const Config& config, int64_t positions) {
  const QuietStarConfig& quiet_star = config.quiet_star;
  const auto refuse = [&](absl::string_view what, int64_t most) {
    return Reject(absl::StrCat(what, " can have ", most, " tokens, more than the model's ", positions,
                               " positions (model.max_position_embeddings): raise that, or shorten texts or thoughts"));
  };
  const int64_t behind = quiet_star.anti_theater
                             ? std::max(quiet_star.tokens_ahead, quiet_star.theater.continuation_tokens)
                             : quiet_star.tokens_ahead;
  const int64_t with_thought = LongestText(config.data) + quiet_star.max_thought_length + 2 + behind;
  if (with_thought > positions) {
    return refuse(absl::StrCat("a text of [data] with a thought of quiet_star.max_thought_length ",
                               quiet_star.max_thought_length, " tokens, its delimiters and ", behind,
                               " tokens behind it (quiet_star.tokens_ahead, continuation_tokens)"),
                  with_thought);
  }
  const int64_t example = LongestExample(config);
  if (config.sft.steps == 0 || example <= positions) return absl::OkStatus();
  return refuse("an example of the SFT phase, a text of [data] with a thought in it,", example);
}

int64_t MostThoughtTokens(const Config& config) {
  return std::max<int64_t>(1, LongestText(config.data) - 1) * config.quiet_star.max_thought_length;
}

absl::Status CheckQuietStar(const Config& config) {
  RETURN_IF_ERROR(ValueWidths(config.quiet_star).status());
  RETURN_IF_ERROR(CheckLengths(config));
  RETURN_IF_ERROR(CheckAdapters(config.lora));
  if (config.quiet_star.anti_theater_patience > 0 && config.evaluation.every == 0) {
    return Reject("quiet_star.anti_theater_patience counts evaluations, but there are none: set evaluation.every");
  }
  RETURN_IF_ERROR(CheckRewards(config));
  return CheckBaseline(config.quiet_star, config.algorithm.advantage);
}

}  // namespace reprise::rl
