#ifndef RL_EPISODES_PROMPT_BASELINES_H_
#define RL_EPISODES_PROMPT_BASELINES_H_

// Computes the baseline of a prompt's rewards where it does not come from the prompt's own samples: the reward of the
// policy's greedy completion or episode (ReMax; Li et al., 2024, arXiv 2310.10505), or the optimal value, from samples
// of the reference (A*-PO; rl/advantage/optimal_value.h). These episodes are not stored: a replay plays them again.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/parallel/thread_pool.h"
#include "models/generation/generate.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/advantage/advantages.h"
#include "rl/advantage/optimal_value.h"
#include "rl/episodes/step_rewards.h"
#include "rl/episodes/turn_episodes.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

// What the episodes are played with. All references must outlive the call.
struct BaselinePlay {
  const Policy& policy;  // kGreedy: the current policy; kOptimal: the reference
  const models::Tokenizer& tokenizer;
  const TurnDeps& turns;            // of training, without an external process
  models::GenerateOptions options;  // of training, with the step; the draws of training are not affected
  const RewardOptions& rewards;
  ThreadPool& pool;
};

// Returns one weighted reward or value per task; NaN where a prompt has none and must be left out. A replay returns the
// same. Reads of `options` the baseline, which is kGreedy or kOptimal (checked), and reward_clip_range. Errors as
// ScoreEpisodes.
absl::StatusOr<std::vector<double>> PromptBaselines(const BaselinePlay& play, const std::vector<TaskRecord>& tasks,
                                                    const AdvantageOptions& options,
                                                    const OptimalValueOptions& optimal);

}  // namespace reprise::rl

#endif  // RL_EPISODES_PROMPT_BASELINES_H_
