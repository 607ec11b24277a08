#ifndef RL_LEARNER_STEP_REWARDS_H_
#define RL_LEARNER_STEP_REWARDS_H_

// From the completions of a step to their rewards.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/learner/step.h"
#include "rl/reward/reward.h"

namespace reprise::rl {

struct RewardOptions {
  std::vector<RewardFunction> functions;  // followed by the punishments that are switched on
  std::vector<std::string> names_F;       // with the punishments
  std::vector<double> weights_F;
  int64_t max_completion_length = 1;
  int64_t soft_punish_cache = 0;   // 0: no soft_overlong
  double missing_eos_penalty = 0;  // 0: no missing_eos
};

// The completion's rewards by function. Internal, naming the function and `whose`, if one is not plausible
// (plausible.h).
absl::StatusOr<std::vector<double>> RewardsOfCompletion(const models::Tokenizer& tokenizer,
                                                        const RewardOptions& options, const TaskRecord& task,
                                                        const std::vector<int32_t>& tokens, bool terminated,
                                                        absl::string_view whose);

// Scores this rank's episodes. Errors as above, naming prompt and sample.
absl::Status ScoreEpisodes(const models::Tokenizer& tokenizer, const RewardOptions& options, Step* step);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_REWARDS_H_
