#ifndef RL_EPISODES_STEP_REWARDS_H_
#define RL_EPISODES_STEP_REWARDS_H_

// Computes the rewards of a step's completions.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/environment/player.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/step_record.h"
#include "rl/reward/reward.h"
#include "rl/workload/workload.h"

namespace reprise::rl {

struct RewardOptions {
  std::vector<RewardFunction>
      functions;  // null: the environment's or the external process's; the enabled penalties follow
  RewardColumns columns;
  int64_t max_completion_length = 1;
  int64_t soft_punish_cache = 0;   // 0: no soft_overlong
  double missing_eos_penalty = 0;  // 0: no missing_eos
  double turn_reward = 0;          // added per turn of an environment
  TurnRules rules = {};            // what the scored text ends with
  double correct_reward = 0;       // of evaluations: EvaluationConfig::correct_reward
};

// The parts of an episode that are scored.
struct Scored {
  std::string text;  // what the policy wrote; with several turns, in the last one
  int64_t tokens = 0;
  bool terminated = false;
  double environment_reward = 0, process_reward = 0;
};

// The text of the result is without the end token or stop text that ended the completion.
Scored MakeScoredCompletion(const models::Tokenizer& tokenizer, const TurnRules& rules,
                            absl::Span<const int32_t> tokens, bool terminated);

// Returns the completion's rewards by function; NaN where the external process could not score it. Internal, naming the
// function and `whose`, if a reward is not within bounds (rl/record/bounds.h).
absl::StatusOr<std::vector<double>> RewardsOfCompletion(const RewardOptions& options, const CompletionTask& task,
                                                        const Scored& scored, absl::string_view whose);

// Scores episodes of these tasks; the reward of one that no function could score is NaN. Errors as above, naming prompt
// and sample.
absl::Status ScoreEpisodes(const models::Tokenizer& tokenizer, const RewardOptions& options,
                           absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N);

}  // namespace reprise::rl

#endif  // RL_EPISODES_STEP_REWARDS_H_
