#ifndef PIPELINES_STORED_SCORED_REWARD_H_
#define PIPELINES_STORED_SCORED_REWARD_H_

// The reward of a training step, for people. The stored metric `reward` is 0 where no function could score anything.

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_format.h"
#include "rl/record/record_schema.h"

namespace reprise {

// Returns the mean reward of the step's episodes; NaN where no function could score any of them.
inline double ScoredReward(const rl::StepResults& step) {
  const bool is_unscored = GetMetric(step, "frac_unscorable") == 1;
  return is_unscored ? std::numeric_limits<double>::quiet_NaN() : GetMetric(step, "reward");
}

// "reward 0.500", or "nothing scored".
inline std::string ScoredRewardText(const rl::StepResults& step) {
  const double reward = ScoredReward(step);
  return std::isnan(reward) ? "nothing scored" : absl::StrFormat("reward %.3f", reward);
}

}  // namespace reprise

#endif  // PIPELINES_STORED_SCORED_REWARD_H_
