#ifndef RL_ADVANTAGE_ADVANTAGES_H_
#define RL_ADVANTAGE_ADVANTAGES_H_

// From a batch's rewards to its advantages, by the choices of an algorithm.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rl/advantage/group_relative.h"
#include "rl/advantage/reward_table.h"
#include "rl/loss/options.h"

namespace reprise::rl {

// What a reward is compared with:
//   kGroupMean, kLeaveOneOut   the other samples of its prompt (group_relative.h, leave_one_out.h)
//   kNone                      0 (REINFORCE; Williams, 1992)
//   kRunningMean               earlier batches (running_mean.h)
//   kGreedy                    the reward of the prompt's greedy completion (ReMax; Li et al., 2024, arXiv 2310.10505)
//   kLengthWeighted            the group's length-weighted mean (length_weighted.h)
//   kOptimal                   the prompt's optimal value (optimal_value.h)
//   kValue                     a value function, token by token (rl/value/ppo_targets.h)
enum class Baseline { kGroupMean, kLeaveOneOut, kNone, kRunningMean, kGreedy, kLengthWeighted, kOptimal, kValue };
enum class RewardAggregation { kSumThenNormalize, kNormalizeThenSum };

// "group_mean", "leave_one_out", "none", "running_mean", "greedy", "length_weighted", "optimal",
// "value".
absl::StatusOr<Baseline> ParseBaseline(absl::string_view name);
absl::string_view BaselineName(Baseline baseline);

// "sum_then_normalize", "normalize_then_sum".
absl::StatusOr<RewardAggregation> ParseRewardAggregation(absl::string_view name);
absl::string_view RewardAggregationName(RewardAggregation aggregation);

struct AdvantageOptions {
  Baseline baseline = Baseline::kGroupMean;
  double advantage_epsilon = kAdvantageEpsilon;  // added to every standard deviation that divides
  int64_t ddof = 1;                              // 0: deviations without Bessel's correction
  bool lone_sample_keeps_reward = false;         // verl's way with a group of one, see Normalization
  // Of all but kLeaveOneOut.
  ScaleRewards scale_rewards = ScaleRewards::kGroup;
  // Of kGroupMean.
  RewardAggregation multi_objective_aggregation = RewardAggregation::kSumThenNormalize;
  // Of kLeaveOneOut.
  bool normalize_advantages = false;
  bool baseline_over_batch = false;  // all samples of the batch are one group (episode_leave_one_out.h)
  // Of all; not together with kNormalizeThenSum. The clip is of rewards and of what they are compared with.
  double reward_beta = 0.0;                            // weight of the divergence that is taken from the reward
  KlEstimator reward_kl_estimator = KlEstimator::kK1;  // and what estimates it; not kExact
  std::optional<std::pair<double, double>> reward_clip_range = {};
  // Of advantages that differ between the tokens of an episode (ByToken; rl/algorithm/token_advantages.h).
  bool whiten_tokens = false;   // over all tokens of the batch; with kNone (REINFORCE++), kGroupMean or kValue
  double gamma = 1.0;           // with kValue, or kNone and whiten_tokens
  double lambda = 0.95;         // with kValue
  bool whiten_rewards = false;  // of tokens, their mean kept; with kValue
  // With kValue: whether an episode that was cut off goes on from the value of its last state; else it ends there.
  bool bootstrap_truncated = true;
};

// Whether every prompt has a baseline that comes from none of its own samples: prompt_baseline_P.
bool NeedsPromptBaselines(const AdvantageOptions& options);

// Whether the options give every token an advantage of its own.
bool ByToken(const AdvantageOptions& options);

// InvalidArgument, with the keys, for choices that exclude each other.
absl::Status ValidateAdvantageOptions(const AdvantageOptions& options);

struct AdvantageInputs {
  RewardTable table = {};
  absl::Span<const double> sequence_kl_N = {};  // see PenalizedRewards; read when reward_beta != 0
  absl::Span<const int64_t> length_N = {};      // tokens that count; read by kLengthWeighted
  // The greedy completion's weighted reward or the optimal value; NaN: none, advantage 0. Read by kGreedy, kOptimal.
  absl::Span<const double> prompt_baseline_P = {};
  // RunningMean::baseline() before this batch, of rewards that went through the same clip; read by kRunningMean.
  double running_mean = 0.0;
};

// One advantage a sample, 0 for what no function could score. Options must be valid, and not by token (checked). Pure;
// groups are independent unless the options normalise over the batch.
std::vector<double> Advantages(const AdvantageInputs& inputs, const AdvantageOptions& options);

// The same from rewards (and the divergence) alone.
std::vector<double> Advantages(const RewardTable& table, const AdvantageOptions& options,
                               absl::Span<const double> sequence_kl_N);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_ADVANTAGES_H_
