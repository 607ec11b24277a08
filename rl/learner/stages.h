#ifndef RL_LEARNER_STAGES_H_
#define RL_LEARNER_STAGES_H_

// The stages of a step, in the order in which Learner::TrainStep calls them; each has a source of its own.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rl/learner/objective.h"
#include "rl/learner/schedule_state.h"
#include "rl/learner/step_context.h"
#include "rl/metrics/step_metrics.h"

namespace reprise::rl {

// Returns the schedules before the first training step.
ScheduleState InitialSchedules(const AlgorithmConfig& algorithm);

// Returns the plan of training step `number`: the run's algorithm with the schedules' values before it. Pure.
StepPlan PlanStep(const StepContext& step_context, const ScheduleState& schedules, int64_t number);

// Draws this rank's tasks and their episodes, and counts the whole step. Collective. Errors: those of Workload::Draw.
absl::StatusOr<StepBatch> DrawStep(const StepShape& shape, StepContext* step_context);

// Computes all that a step needs of its episodes before its first update: their rewards, and where the algorithm needs
// them their log-probabilities under the reference, under the policy and under the distributions that they were drawn
// from, the weights of importance correction, and the old values. What is recorded of an episode is set in `batch`.
// Collective. Internal, naming prompt and sample, for a number that is not within bounds.
absl::StatusOr<StepScores> ScoreStep(const StepPlan& plan, StepContext* step_context, StepBatch* batch);

// Internal where a log-probability or value of this rank is not within bounds: it would corrupt the advantages of other
// episodes, and here the corrupted tensor can still be named. Not collective.
absl::Status CheckScores(const StepBatch& batch, const StepScores& scores, const StepContext& step_context);

// Computes on every rank the advantages of all completions from all rewards, lengths, divergences and values, and sets
// those of the rank's own completions, also in `batch`. Collective. Internal, naming prompt and sample, for a
// log-probability or value that is not within bounds; the errors of PromptBaselines.
absl::StatusOr<StepAdvantages> ComputeAdvantages(const StepPlan& plan, const StepScores& scores,
                                                 StepContext* step_context, StepBatch* batch);

// Several updates from the completions of one step (PPO; Schulman et al., 2017, algorithm 1): the old log-probabilities
// of all updates are those of the policy that sampled. Collective. Internal, before any weight of the failing update is
// changed, for a number that is not within bounds, a gradient of 0 everywhere although episodes have advantages, or
// a learning rate that is not finite; the errors of Updater::Apply.
absl::StatusOr<StepUpdates> UpdateByMinibatches(const StepPlan& plan, const StepAdvantages& advantages,
                                                const Objective& objective, const StepBatch& batch,
                                                StepContext* step_context);

// One update from the answers of an SFT step. Errors as above.
absl::StatusOr<StepUpdates> UpdateByAnswers(const Objective& objective, const StepBatch& batch,
                                            StepContext* step_context);

// Advances the schedules, the statistics that the policy keeps of episodes, and the reference model after the updates
// of a training step. Collective; the result is the same on any number of ranks.
absl::Status AdvanceSchedules(const StepBatch& batch, const StepAdvantages& advantages, const StepUpdates& updates,
                              StepContext* step_context, ScheduleState* schedules);

// What the run leaves at the end of a step, besides the step's own results.
struct StepEnd {
  double learning_rate = 0;
  int64_t num_tokens = 0;                // of prompts and completions, since the start of the phase
  Metrics evaluation;                    // of the step's evaluation
  std::vector<double> schedules;         // ToNumbers(ScheduleState), in the SFT phase SftWindow's; empty without any
  std::vector<double> best;              // BestToNumbers(BestSoFar); empty without any
  absl::Span<const float> best_weights;  // empty where not kept
  bool ends_sft = false;                 // no step of the SFT phase follows
  bool is_over = false;                  // no step of the run follows
  bool ends_early = false;               // this process ends before the run's last step
};

// algorithm: that of the step. Returns false if the sink, or an interrupt on any rank, ends the run. Collective;
// returns the same on every rank.
absl::StatusOr<bool> CommitStep(const AlgorithmConfig& algorithm, StepBatch batch, const StepAdvantages& advantages,
                                StepUpdates updates, StepEnd end, StepContext* step_context);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STAGES_H_
