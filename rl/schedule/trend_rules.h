#ifndef RL_SCHEDULE_TREND_RULES_H_
#define RL_SCHEDULE_TREND_RULES_H_

// What a workload has the training loop keep from step to step, and the rules by which this ends a phase of the run
// early.

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace reprise::rl {

// Tests that evaluations make: after `patience` failures in a row the run ends.
struct FailureRule {
  absl::string_view passed;    // metric of an evaluation: 1 where they pass, else they fail
  absl::string_view failures;  // metric that reports the failures in a row so far
  int64_t patience = 0;        // 0: they never end the run
};

// The SFT phase ends after the first step at which the mean of a metric over the last `window` steps, of which there
// must be as many, has reached the threshold.
struct ConvergenceRule {
  absl::string_view metric;  // of Policy::OwnMetrics
  double threshold = 0;
  int64_t window = 1;
};

struct WorkloadTrends {
  bool averages_rewards = false;  // the rewards of the last steps, whatever evaluations track
  std::optional<FailureRule> failures = std::nullopt;
  std::optional<ConvergenceRule> sft = std::nullopt;
};

// The metrics of SFT steps that a ConvergenceRule adds: the mean over the last steps, and at the step that ends the
// SFT phase early how many of sft.steps were not taken.
inline constexpr char kSftWindow[] = "sft/window_mean";
inline constexpr char kSftStepsLeft[] = "sft/steps_not_taken";

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_TREND_RULES_H_
