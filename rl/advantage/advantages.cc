#include "rl/advantage/advantages.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/config/unknown_name.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "rl/advantage/group_relative.h"
#include "rl/advantage/leave_one_out.h"
#include "rl/advantage/reward_table.h"

namespace reprise::rl {
namespace {
constexpr absl::string_view kAggregations[] = {"sum_then_normalize", "normalize_then_sum"};
constexpr absl::string_view kBaselines[] = {"group_mean",      "leave_one_out",      "none",     "running_mean",
                                            "greedy",          "length_weighted",    "optimal",  "value",
                                            "step_group_mean", "step_leave_one_out", "step_none"};

// Returns what is subtracted from each reward, for baselines not computed by group_relative.h or leave_one_out.h.
std::vector<double> GivenBaseline(const AdvantageInputs& inputs, const AdvantageOptions& options,
                                  const std::vector<double>& rewards_N) {
  const Baseline baseline = options.baseline;
  const int64_t generations = inputs.table.num_generations;
  if (baseline == Baseline::kLengthWeighted) return LengthWeightedBaseline(rewards_N, inputs.length_N, generations);
  if (baseline == Baseline::kRunningMean) return std::vector<double>(rewards_N.size(), inputs.running_mean);
  if (baseline == Baseline::kGreedy || baseline == Baseline::kOptimal) {
    CHECK_EQ(inputs.prompt_baseline_P.size() * static_cast<size_t>(generations), rewards_N.size());
    std::vector<double> baseline_N;
    for (double reward : ClippedRewards(inputs.prompt_baseline_P, options.reward_clip_range)) {
      baseline_N.insert(baseline_N.end(), generations, reward);
    }
    return baseline_N;
  }
  CHECK(baseline == Baseline::kNone);
  return std::vector<double>(rewards_N.size(), 0.0);
}

// Treats all scored samples as one group. A single scored sample has nothing to be compared with: advantage 0.
std::vector<double> OverBatch(const std::vector<double>& rewards_N, const AdvantageOptions& options) {
  std::vector<double> scored, advantages_N(rewards_N.size(), 0.0);
  for (const double reward : rewards_N) {
    if (!std::isnan(reward)) scored.push_back(reward);
  }
  if (scored.size() < 2) return advantages_N;
  const absl::StatusOr<EpisodeAdvantages> batch =
      EpisodeLeaveOneOut(scored, {.normalize = options.normalize_advantages, .epsilon = options.advantage_epsilon});
  CHECK(batch.ok());
  size_t next = 0;
  for (size_t n = 0; n < rewards_N.size(); ++n) {
    if (!std::isnan(rewards_N[n])) advantages_N[n] = batch->advantage_N[next++];
  }
  return advantages_N;
}

absl::Status ValidateNumbers(const AdvantageOptions& options) {
  if (options.ddof != 0 && options.ddof != 1) {
    return absl::InvalidArgumentError(absl::StrCat("ddof is ", options.ddof, "; expected 0 or 1"));
  }
  for (const auto& [key, value] : {std::pair("gamma", options.gamma), {"lam", options.lambda}}) {
    if (value >= 0 && value <= 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(key, " is ", value, "; expected 0 to 1"));
  }
  return absl::OkStatus();
}

absl::Status ValidateTokens(const AdvantageOptions& options) {
  if (!options.whiten_tokens || options.baseline == Baseline::kValue || options.baseline == Baseline::kNone) {
    return absl::OkStatus();
  }
  if (options.baseline == Baseline::kGroupMean && options.reward_beta == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("whiten_tokens cannot be combined with baseline ", BaselineName(options.baseline),
                   options.reward_beta == 0 ? "" : " and a divergence that is subtracted from the reward",
                   "; choose value, none, or group_mean without such a divergence, or leave whiten_tokens off"));
}

absl::Status ValidateSteps(const AdvantageOptions& options) {
  if (options.baseline != Baseline::kStepGroupMean || options.scale_rewards != ScaleRewards::kBatch) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "scale_rewards batch cannot be combined with baseline step_group_mean, which compares each step on its own; "
      "choose group or none");
}

}  // namespace

absl::StatusOr<RewardAggregation> ParseRewardAggregation(absl::string_view name) {
  return ParseName<RewardAggregation>("multi_objective_aggregation", name, kAggregations);
}

absl::StatusOr<Baseline> ParseBaseline(absl::string_view name) {
  return ParseName<Baseline>("baseline", name, kBaselines);
}

absl::string_view BaselineName(Baseline baseline) { return kBaselines[static_cast<size_t>(baseline)]; }

bool NeedsPromptBaselines(const AdvantageOptions& options) {
  return options.baseline == Baseline::kGreedy || options.baseline == Baseline::kOptimal;
}

bool ByStep(const AdvantageOptions& options) {
  return options.baseline == Baseline::kStepGroupMean || options.baseline == Baseline::kStepLeaveOneOut ||
         options.baseline == Baseline::kStepNone;
}

bool StepsAreTurns(const AdvantageOptions& options) {
  return ByStep(options) || (options.baseline == Baseline::kValue && options.value_of_turns);
}

bool ByToken(const AdvantageOptions& options) {
  return options.baseline == Baseline::kValue || options.whiten_tokens || ByStep(options);
}

absl::Status ValidateAdvantageOptions(const AdvantageOptions& options) {
  RETURN_IF_ERROR(ValidateNumbers(options));
  RETURN_IF_ERROR(ValidateTokens(options));
  RETURN_IF_ERROR(ValidateSteps(options));
  if (options.baseline_over_batch && options.baseline != Baseline::kLeaveOneOut) {
    return absl::InvalidArgumentError(absl::StrCat("baseline_scope batch cannot be combined with baseline ",
                                                   BaselineName(options.baseline), "; it needs leave_one_out"));
  }
  if (options.multi_objective_aggregation == RewardAggregation::kSumThenNormalize) return absl::OkStatus();
  if (options.baseline != Baseline::kGroupMean) {
    return absl::InvalidArgumentError(absl::StrCat("multi_objective_aggregation normalize_then_sum cannot be combined ",
                                                   "with baseline ", BaselineName(options.baseline),
                                                   "; it needs group_mean"));
  }
  if (options.reward_beta != 0 || options.reward_clip_range) {
    return absl::InvalidArgumentError(
        "multi_objective_aggregation normalize_then_sum cannot be combined with a divergence or a clip of the summed "
        "reward; set beta to 0 and no reward_clip_range, or choose sum_then_normalize");
  }
  return absl::OkStatus();
}

std::vector<double> Advantages(const AdvantageInputs& inputs, const AdvantageOptions& options) {
  const RewardTable& table = inputs.table;
  CheckRewardTable(table);
  CHECK(!ByToken(options));
  if (options.multi_objective_aggregation == RewardAggregation::kNormalizeThenSum) {
    return NormalizeThenSumAdvantages(table, options.advantage_epsilon);
  }
  const std::vector<double> rewards_N =
      PenalizedRewards(WeightedRewards(table), options.reward_clip_range, options.reward_beta, inputs.sequence_kl_N);
  if (options.baseline_over_batch) return OverBatch(rewards_N, options);
  if (options.baseline == Baseline::kLeaveOneOut) {
    return LeaveOneOutAdvantages(rewards_N, table.num_generations, options.normalize_advantages,
                                 options.advantage_epsilon);
  }
  const Normalization normalization = {options.advantage_epsilon, options.ddof, options.lone_sample_keeps_reward};
  if (options.baseline == Baseline::kGroupMean) {
    return GroupRelativeAdvantages(rewards_N, table.num_generations, options.scale_rewards, normalization);
  }
  return ScaledAdvantages(rewards_N, GivenBaseline(inputs, options, rewards_N), table.num_generations,
                          options.scale_rewards, normalization);
}

std::vector<double> Advantages(const RewardTable& table, const AdvantageOptions& options,
                               absl::Span<const double> sequence_kl_N) {
  return Advantages({.table = table, .sequence_kl_N = sequence_kl_N}, options);
}

}  // namespace reprise::rl
