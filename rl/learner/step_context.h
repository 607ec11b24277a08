#ifndef RL_LEARNER_STEP_CONTEXT_H_
#define RL_LEARNER_STEP_CONTEXT_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/comm/exchange/shard_map.h"
#include "kernels/sums/moments.h"
#include "rl/gradient/updater.h"
#include "rl/learner/choices.h"
#include "rl/learner/learner_deps.h"
#include "rl/learner/step.h"

namespace reprise::rl {

// What the stages of all steps of a run work with.
struct StepContext {
  // All references in `parts` must outlive the result. Errors: those of the configuration's names.
  static absl::StatusOr<std::unique_ptr<StepContext>> Create(const LearnerDeps& parts);

  StepContext(const LearnerDeps& all_parts, const ShardMap& shard_map, const Choices& all_choices);

  // Prepares the model, the optimizer and the reference for the first training step.
  void BeginTraining();

  // Whether training computes with the bits of sampling: not with run.reduction = "fast".
  bool is_exact() const { return parts.config.run.reduction == Reduction::kExact; }
  // At which completions are sampled and learned.
  float temperature() const { return static_cast<float>(parts.config.rollout.temperature); }

  // Returns a step of `prompts` prompts with `generations` completions each, on this rank.
  StepShape MakeStepShape(Phase phase, int64_t number, int64_t prompts, int64_t generations) const;

  // Returns the groups of this rank's share of a step, by shard. Views of the batch's tokens.
  std::vector<ShardInput> ShardInputs(const StepBatch& batch) const;
  // Returns the groups of a minibatch: `episodes` are indices of the step's episodes, by prompt, then sample,
  // ascending. Each episode stays in its shard and in the group of its prompt.
  std::vector<ShardInput> ShardInputs(const StepBatch& batch, absl::Span<const int64_t> episodes) const;

  // Tells the observer that a stage of this step begins.
  void Enter(StepStage stage, const StepShape& step) const { parts.Enter(stage, step.phase, step.number); }

  // Calls `receive`, on the pool's threads, with the scores of the episodes under a policy.
  void Score(const Policy& policy, const std::vector<ShardInput>& inputs, const EpisodeScores& receive);

  const LearnerDeps parts;
  const ShardMap shards;
  const Choices choices;  // of the run
  Updater updater;
  std::unique_ptr<Policy> reference;  // null: none
};

// What is decided before a training step begins.
struct StepPlan {
  AlgorithmConfig algorithm;  // with the schedules' values for this step
  double learning_rate = 0;
  double running_mean = 0;              // of the rewards of earlier steps
  kernels::Moments token_rewards = {};  // of earlier steps
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_CONTEXT_H_
