#ifndef RL_LEARNER_STEP_REWARDS_H_
#define RL_LEARNER_STEP_REWARDS_H_

// From the completions of a step to rewards and advantages.

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/comm/communicator.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/advantage/advantages.h"
#include "rl/learner/step.h"
#include "rl/reward/reward.h"

namespace reprise::rl {

// Scores this rank's episodes. Internal, naming prompt and sample, if a reward is not finite.
absl::Status ScoreEpisodes(const models::Tokenizer& tokenizer, RewardFunction reward, absl::string_view reward_name,
                           Step* step);

// Every rank computes the advantages of all completions from all rewards (and, where the options take the divergence
// from the reward, from all log-probabilities), and keeps its own. Collective; errors are the communicator's.
absl::Status AssignAdvantages(Communicator& comm, const AdvantageOptions& options, Step* step);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_REWARDS_H_
