#ifndef RL_RECORD_RECORDED_H_
#define RL_RECORD_RECORDED_H_

// What a run's artifact stores of a step besides its tasks and episodes: a function of the configuration alone.

#include <cstdint>
#include <set>

#include "rl/config/config.h"
#include "rl/config/extension.h"
#include "rl/config/workload_traits.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

// Returns whether tokens are drawn, at least sometimes, from a part of the policy's whole distribution.
inline bool FiltersSampling(const Config& config) {
  const RolloutConfig& rollout = config.rollout;
  return Traits(config).never_draws_some || rollout.top_k > 0 || static_cast<float>(rollout.top_p) < 1.0f ||
         rollout.min_new_tokens > 0;
}

// Returns whether a step stores digests of every gradient and weight: every digest_every steps and at the end of each
// phase and part. (A run that early stopping ends stores them at its end too; likewise for HasCheckpoint.)
inline bool HasDigests(const Config& config, Phase phase, int64_t step) {
  const int64_t every = config.artifact.digest_every;
  const int64_t last = phase == Phase::kSft ? config.sft.steps : EndOfPart(config.run, step);
  return (every > 0 && step % every == 0) || step == last;
}

// Returns whether a step ends with an evaluation.
inline bool HasEvaluation(const Config& config, Phase phase, int64_t step) {
  return phase == Phase::kTraining && config.evaluation.every > 0 && step % config.evaluation.every == 0;
}

// Returns whether a step stores a checkpoint: weights and the optimizer's state.
inline bool HasCheckpoint(const Config& config, Phase phase, int64_t step) {
  if (phase == Phase::kSft) return false;
  const int64_t every = config.artifact.checkpoint_every;
  return step == EndOfPart(config.run, step) || (every > 0 && step % every == 0);
}

// Returns the training steps whose checkpoints a run keeps when its newest is that of step `newest` (0: it has none):
// at most artifact.keep_checkpoints of them, unless that is 0.
inline std::set<int64_t> KeptCheckpoints(const Config& config, int64_t newest) {
  const int64_t keep = config.artifact.keep_checkpoints;
  std::set<int64_t> kept;
  for (int64_t step = newest; step > 0 && (keep == 0 || static_cast<int64_t>(kept.size()) < keep); --step) {
    if (step == newest || HasCheckpoint(config, Phase::kTraining, step)) kept.insert(step);
  }
  return kept;
}

}  // namespace reprise::rl

#endif  // RL_RECORD_RECORDED_H_
