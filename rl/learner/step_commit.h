#ifndef RL_LEARNER_STEP_COMMIT_H_
#define RL_LEARNER_STEP_COMMIT_H_

// Ends a step: its data are digested, gathered and passed to the sink.

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rl/learner/step_tools.h"
#include "rl/metrics/step_metrics.h"

namespace reprise::rl {

// What the run leaves at the end of a step, besides the step's own results.
struct StepEnd {
  double learning_rate = 0;
  int64_t num_tokens = 0;                // of prompts and completions, since the start of the phase
  Metrics evaluation;                    // of the step's evaluation
  std::vector<double> schedules;         // ToNumbers(ScheduleState); empty without any
  std::vector<double> best;              // BestToNumbers(BestSoFar); empty without any
  absl::Span<const float> best_weights;  // empty where not kept
  bool is_over = false;                  // no step of the run follows
  bool ends_early = false;               // this process ends before the run's last step
};

// algorithm: that of the step. Returns false if the sink, or an interrupt on any rank, ends the run. Collective;
// returns the same on every rank.
absl::StatusOr<bool> CommitStep(const AlgorithmRow& algorithm, StepBatch batch, const StepAdvantages& advantages,
                                StepUpdates updates, StepEnd end, StepTools* tools);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_COMMIT_H_
