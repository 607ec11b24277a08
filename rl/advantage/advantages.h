#ifndef RL_ADVANTAGE_ADVANTAGES_H_
#define RL_ADVANTAGE_ADVANTAGES_H_

// Computes a batch's advantages from its rewards, according to an algorithm's options.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/sums/moments.h"
#include "rl/advantage/group_relative.h"
#include "rl/advantage/reward_table.h"
#include "rl/loss/options.h"

namespace reprise::rl {

// The baseline that is subtracted from a reward:
//   kGroupMean, kLeaveOneOut   the other samples of its prompt (group_relative.h, leave_one_out.h)
//   kNone                      0 (REINFORCE; Williams, 1992)
//   kRunningMean               earlier batches (running_mean.h)
//   kGreedy                    the reward of the prompt's greedy completion (ReMax; Li et al., 2024, arXiv 2310.10505)
//   kLengthWeighted            the group's length-weighted mean (length_weighted.h)
//   kOptimal                   the prompt's optimal value (optimal_value.h)
//   kValue                     a value function, token by token (rl/value/ppo_targets.h)
//   kStepGroupMean, kStepLeaveOneOut   the same step of the other samples of its prompt (step_group.h)
//   kStepNone                  0, step by step: for rewards of steps that are relative already (step_group.h)
enum class Baseline {
  kGroupMean,
  kLeaveOneOut,
  kNone,
  kRunningMean,
  kGreedy,
  kLengthWeighted,
  kOptimal,
  kValue,
  kStepGroupMean,
  kStepLeaveOneOut,
  kStepNone
};
enum class RewardAggregation { kSumThenNormalize, kNormalizeThenSum };

// "group_mean", "leave_one_out", "none", "running_mean", "greedy", "length_weighted", "optimal",
// "value", "step_group_mean", "step_leave_one_out", "step_none".
absl::StatusOr<Baseline> ParseBaseline(absl::string_view name);
absl::string_view BaselineName(Baseline baseline);

// "sum_then_normalize", "normalize_then_sum".
absl::StatusOr<RewardAggregation> ParseRewardAggregation(absl::string_view name);

struct AdvantageOptions {
  Baseline baseline = Baseline::kGroupMean;
  double advantage_epsilon = kAdvantageEpsilon;  // added to every standard deviation that divides
  int64_t ddof = 1;                              // 0: deviations without Bessel's correction
  bool lone_sample_keeps_reward = false;         // as in verl; see Normalization
  // Applies to every baseline except kLeaveOneOut, kStepLeaveOneOut, kStepNone and kValue; kStepGroupMean has no
  // kBatch.
  ScaleRewards scale_rewards = ScaleRewards::kGroup;
  // Applies to kGroupMean.
  RewardAggregation multi_objective_aggregation = RewardAggregation::kSumThenNormalize;
  // Of kLeaveOneOut.
  bool normalize_advantages = false;
  bool baseline_over_batch = false;  // all samples of the batch are one group (episode_leave_one_out.h)
  // Applies to every baseline, but not with kNormalizeThenSum. Rewards and their baselines are clipped alike.
  double reward_beta = 0.0;                            // weight of the divergence subtracted from the reward
  KlEstimator reward_kl_estimator = KlEstimator::kK1;  // its estimator; not kExact
  std::optional<std::pair<double, double>> reward_clip_range = {};
  // For advantages that differ between the tokens of an episode (ByToken; rl/algorithm/token_advantages.h).
  bool whiten_tokens = false;   // over all tokens of the batch; with kNone (REINFORCE++), kGroupMean or kValue
  double gamma = 1.0;           // with kValue, kNone and whiten_tokens, or by step: DiscountedReturns
  double lambda = 0.95;         // with kValue
  bool value_of_turns = false;  // with kValue: a step is a turn and not a token
  bool whiten_rewards = false;  // of token rewards, keeping their mean; with kValue
  // Whether token rewards are divided by their standard deviation over all steps so far; with kValue.
  bool scales_by_running_deviation = false;
  // With kValue: whether a truncated episode is bootstrapped from the value of its last state; else it ends there.
  bool bootstrap_truncated = true;

  bool operator==(const AdvantageOptions&) const = default;
};

// Returns whether every prompt needs a baseline that does not come from its own samples: prompt_baseline_P.
bool NeedsPromptBaselines(const AdvantageOptions& options);

// Returns whether each step of an episode has its own return: kStepGroupMean, kStepLeaveOneOut, kStepNone.
bool ByStep(const AdvantageOptions& options);

// Returns whether turns are the steps that have returns, where an episode has turns.
bool StepsAreTurns(const AdvantageOptions& options);

// Returns whether the options give every token its own advantage.
bool ByToken(const AdvantageOptions& options);

// Returns InvalidArgument, naming the keys, for options that cannot be combined.
absl::Status ValidateAdvantageOptions(const AdvantageOptions& options);

struct AdvantageInputs {
  RewardTable table = {};
  absl::Span<const double> sequence_kl_N = {};  // see PenalizedRewards; read when reward_beta != 0
  absl::Span<const int64_t> length_N = {};      // unmasked tokens; read by kLengthWeighted
  // The greedy completion's weighted reward or the optimal value; NaN: none, advantage 0. Read by kGreedy, kOptimal.
  absl::Span<const double> prompt_baseline_P = {};
  // RunningMean::baseline() before this batch, of rewards clipped in the same way; read by kRunningMean.
  double running_mean = 0.0;
  kernels::Moments reward_moments = {};  // of the token rewards of earlier batches; read where they are scaled by these
};

// Returns one advantage per sample, 0 where no function could score it. Options must be valid, and not ByToken
// (checked). Pure; groups are independent unless the options normalise over the batch.
std::vector<double> Advantages(const AdvantageInputs& inputs, const AdvantageOptions& options);

// The same, from only the rewards and the divergence.
std::vector<double> Advantages(const RewardTable& table, const AdvantageOptions& options,
                               absl::Span<const double> sequence_kl_N);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_ADVANTAGES_H_
