#ifndef RL_LEARNER_SCHEDULE_STATE_H_
#define RL_LEARNER_SCHEDULE_STATE_H_

// The state of choices that adapt to earlier steps: a part of a run's state.

#include <vector>

#include "absl/types/span.h"
#include "rl/advantage/statistics.h"
#include "rl/schedule/entropy_coefficient.h"
#include "rl/schedule/kl_coefficient.h"

namespace reprise::rl {

struct ScheduleState {
  KlState kl;
  RunningMean reward_mean;
  EntropyState entropy;

  bool operator==(const ScheduleState&) const = default;
};

inline constexpr size_t kLeastScheduleNumbers = 6;

// Convert to plain numbers and back, exactly. FromNumbers takes at least kLeastScheduleNumbers numbers (checked).
std::vector<double> ToNumbers(const ScheduleState& state);
ScheduleState FromNumbers(absl::Span<const double> numbers);

}  // namespace reprise::rl

#endif  // RL_LEARNER_SCHEDULE_STATE_H_
