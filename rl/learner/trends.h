#ifndef RL_LEARNER_TRENDS_H_
#define RL_LEARNER_TRENDS_H_

// State that a workload asks the loop to keep across steps: means of rewards, failed tests in a row
// (rl/schedule/trend_rules.h).

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "rl/config/config.h"
#include "rl/config/workload_traits.h"
#include "rl/learner/schedule_state.h"
#include "rl/record/step_record.h"
#include "rl/schedule/trend_rules.h"

namespace reprise::rl {

// Called after the evaluation of a training step: counts evaluations in a row whose tests fail, and adds what the state
// knows of earlier steps to the metrics.
void FollowTrends(const Config& config, ScheduleState* state, Metrics* metrics);

// What a ConvergenceRule compares: a metric in the last steps of the SFT phase, of which the state of a run has the
// numbers.
class SftWindow {
 public:
  explicit SftWindow(const Config& config) : rule_(Traits(config).trends(config).sft), steps_(config.sft.steps) {}

  // Takes the metric of a step, and adds those of the rule.
  void Follow(int64_t step, Metrics* metrics);
  // Returns whether the SFT phase is over after `step`.
  bool IsOver(int64_t step) const { return step >= steps_ || HasConverged(); }
  bool HasConverged() const;

  const std::vector<double>& numbers() const { return recent_; }
  void Restore(absl::Span<const double> numbers);

 private:
  double Mean() const;
  void Forget();

  const std::optional<ConvergenceRule> rule_;
  const int64_t steps_;
  std::vector<double> recent_;  // of the last steps, at most rule_->window
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_TRENDS_H_
