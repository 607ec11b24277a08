#ifndef RL_LEARNER_SCHEDULE_STATE_H_
#define RL_LEARNER_SCHEDULE_STATE_H_

// The state of choices that adapt to earlier steps: a part of a run's state.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/advantage/statistics.h"
#include "rl/config/evaluation_section.h"
#include "rl/schedule/entropy_coefficient.h"
#include "rl/schedule/kl_coefficient.h"

namespace reprise::rl {

struct ScheduleState {
  KlState kl;
  RunningMean reward_mean;
  EntropyState entropy;
  // Kept only where the configuration needs them (KeepsTrends).
  std::vector<double> recent_rewards = {};  // mean of each of the last steps, at most evaluation.reward_window
  int64_t theater_failures = 0;             // evaluations in a row whose tests for theater have not all passed

  bool operator==(const ScheduleState&) const = default;
};

inline constexpr size_t kLeastScheduleNumbers = 6;

// Returns whether the state of a run has recent rewards and failures.
inline bool KeepsTrends(const Config& config) {
  return AveragesRewards(config) || (config.run.workload == "quiet_star" && config.quiet_star.anti_theater);
}

// Convert to plain numbers and back, exactly. FromNumbers takes at least kLeastScheduleNumbers numbers (checked).
// keeps_trends: KeepsTrends; else the state must have none. Numbers that no state gives are read as some state.
std::vector<double> ToNumbers(const ScheduleState& state, bool keeps_trends);
ScheduleState FromNumbers(absl::Span<const double> numbers, bool keeps_trends);

// Returns the mean of the recent rewards; 0 without any.
double RewardAverage(const ScheduleState& state);

}  // namespace reprise::rl

#endif  // RL_LEARNER_SCHEDULE_STATE_H_
