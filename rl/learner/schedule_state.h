#ifndef RL_LEARNER_SCHEDULE_STATE_H_
#define RL_LEARNER_SCHEDULE_STATE_H_

// The state of choices that adapt to earlier steps: a part of a run's state.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "kernels/sums/moments.h"
#include "rl/advantage/statistics.h"
#include "rl/config/workload_traits.h"
#include "rl/schedule/entropy_coefficient.h"
#include "rl/schedule/kl_coefficient.h"

namespace reprise::rl {

struct ScheduleState {
  KlState kl;
  RunningMean reward_mean;
  EntropyState entropy;
  // Kept only where the configuration needs them (KeptNumbers).
  kernels::Moments token_rewards = {};  // of all steps
  // Mean of each of the last steps, at most evaluation.reward_window; nullopt where nothing could be scored.
  std::vector<std::optional<double>> recent_rewards = {};
  int64_t failures_in_a_row = 0;  // evaluations whose tests have failed (FailureRule)

  bool operator==(const ScheduleState&) const = default;
};

// What the state of a run includes beside the numbers that every one has.
struct KeptNumbers {
  bool token_rewards = false;  // where an algorithm scales rewards by the deviation over all steps
  bool trends = false;         // recent_rewards and failures_in_a_row

  bool any() const { return token_rewards || trends; }
};

inline KeptNumbers SelectKeptNumbers(const Config& config) {
  return {.token_rewards = config.algorithm.advantage.scales_by_running_deviation,
          .trends = AveragesRewards(config) || Traits(config).trends(config).failures.has_value()};
}

// How many numbers a state has at least.
inline size_t LeastScheduleNumbers(const KeptNumbers& kept) {
  return 6 + (kept.token_rewards ? 3u : 0u) + (kept.trends ? 2u : 0u);
}

// Convert to plain numbers and back, exactly. FromNumbers takes at least LeastScheduleNumbers (checked). What is not
// kept must be that of a new state. Numbers that no state gives are read as some state.
std::vector<double> ToNumbers(const ScheduleState& state, const KeptNumbers& kept);
ScheduleState FromNumbers(absl::Span<const double> numbers, const KeptNumbers& kept);

// Returns the mean over those of the recent steps that have a reward; nullopt without any.
std::optional<double> RewardAverage(const ScheduleState& state);

}  // namespace reprise::rl

#endif  // RL_LEARNER_SCHEDULE_STATE_H_
