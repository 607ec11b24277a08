#ifndef RL_LEARNER_SCHEDULE_STATE_H_
#define RL_LEARNER_SCHEDULE_STATE_H_

// The state of choices that adapt to earlier steps: a part of a run's state.

#include <vector>

#include "absl/types/span.h"
#include "kernels/sums/moments.h"
#include "rl/advantage/statistics.h"
#include "rl/schedule/entropy_coefficient.h"
#include "rl/schedule/kl_coefficient.h"

namespace reprise::rl {

struct ScheduleState {
  KlState kl;
  RunningMean reward_mean;
  EntropyState entropy;
  kernels::Moments token_rewards;  // of all steps; stored where an algorithm scales rewards by them

  bool operator==(const ScheduleState&) const = default;
};

// has_rewards: whether the state includes token_rewards (AdvantageOptions::scales_by_running_deviation).
inline constexpr size_t LeastScheduleNumbers(bool has_rewards) { return has_rewards ? 9 : 6; }

// Convert to plain numbers and back, exactly. FromNumbers takes at least LeastScheduleNumbers (checked).
std::vector<double> ToNumbers(const ScheduleState& state, bool has_rewards);
ScheduleState FromNumbers(absl::Span<const double> numbers, bool has_rewards);

}  // namespace reprise::rl

#endif  // RL_LEARNER_SCHEDULE_STATE_H_
