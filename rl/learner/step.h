#ifndef RL_LEARNER_STEP_H_
#define RL_LEARNER_STEP_H_

// What the stages of a step leave to those after them, each stage its own type: drawing leaves a StepBatch, scoring
// StepScores, the advantages StepAdvantages, the updates StepUpdates.

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/sums/moments.h"
#include "rl/gradient/step_loss.h"
#include "rl/loss/aggregation.h"
#include "rl/metrics/step_metrics.h"
#include "rl/policy/decision_scores.h"
#include "rl/record/step_record.h"
#include "rl/schedule/loader.h"
#include "rl/value/value_loss.h"

namespace reprise::rl {

// Which step it is, and where this rank's part of it begins.
struct StepShape {
  Phase phase = Phase::kTraining;
  int64_t number = 0;
  int64_t prompts = 0, generations = 1;  // of the whole step
  int64_t first_prompt = 0;              // of this rank

  // Returns the index of an episode among those of the whole step, by prompt, then sample.
  size_t PlaceOf(const EpisodeRecord& episode) const {
    return static_cast<size_t>(episode.prompt * generations + episode.sample);
  }
};

// Sums over the whole step.
struct StepCounts {
  int64_t learned_tokens = 0;
  int64_t rows = 0;              // of the passes over the step (Policy::RowsOf)
  int64_t tokens = 0;            // of prompts and completions
  std::vector<int64_t> count_C;  // Policy::CountShard
  int64_t counts_per_layer = 0;  // Policy::counts_per_layer
};

// This rank's prompts and episodes, and sums over all ranks. Later stages set what the record stores of an episode
// besides its tokens: scoring its rewards and log-probabilities, the advantages its advantages.
struct StepBatch {
  StepShape shape;
  std::vector<TaskRecord> task_P;
  std::vector<EpisodeRecord> episode_N;
  StepCounts counts;

  const TaskRecord& FindTask(const EpisodeRecord& episode) const { return rl::FindTask(task_P, episode); }
};

// For importance correction: the log-probabilities that training computes for an episode's tokens before the step's
// first update, and the tokens' weights.
struct Correction {
  std::vector<double> old_logprob_T, weight_T;
};

// Of this rank's episodes, before the step's first update. Each empty where the algorithm does not need it.
struct StepScores {
  std::vector<Correction> correction_N;
  std::vector<std::vector<double>> value_NT;  // predicted by the value function
  // The value after the last token of a truncated episode whose returns bootstrap from it.
  std::vector<std::optional<double>> bootstrap_N;
};

// What the losses of a step need of each episode, also of other ranks' episodes.
struct EpisodeLossInfo {
  SequenceSize size;           // number of tokens that count, and the episode's weight
  bool masked = false;         // no token counts; true where the weight is 0
  bool has_advantage = false;  // a token that counts has an advantage other than 0
  bool is_dropped = false;     // because it is invalid or unscorable
  bool is_invalid = false;     // because it is invalid
  int64_t turns = 1;
};

struct StepAdvantages {
  std::vector<EpisodeLossInfo> loss_info_N;    // of the whole step, by prompt, then sample
  std::vector<double> reward_N;                // of the same episodes, weighted
  std::vector<std::vector<double>> return_NT;  // of this rank's episodes: the targets of a value function
  double mean_prompt_baseline = 0;             // over the prompts that have one
  ValueSummary values;                         // where a value function is trained
  kernels::Moments token_rewards;              // of all steps so far, where rewards are scaled by them
};

struct StepUpdates {
  // Of this rank's episodes, in the first update, and in the last that saw each: where decisions are dealt, in all
  // updates of the last iteration that saw it.
  std::vector<EpisodeOutcome> first_outcome_N, outcome_N;
  std::vector<int64_t> iteration_N;  // of outcome_N
  double grad_norm = 0;              // of the last update
  int64_t iterations = 0;            // that made an update
  std::vector<double> approx_kls;    // of the last iteration's minibatches so far, where early stopping looks at it
  // Policy::OwnMetrics of the minibatches that the last iteration has evaluated, and their means; and what QK-clip did
  // after the last update.
  int64_t metrics_iteration = -1;
  std::vector<Metrics> metrics_of_minibatch;
  Metrics policy_metrics;
  int64_t num_mini_batches = 1;       // of an iteration
  std::optional<LoaderStats> loader;  // where minibatches are of single episodes
  PassCounts passes;                  // of this rank
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_H_
