#ifndef RL_LEARNER_GREEDY_BASELINE_H_
#define RL_LEARNER_GREEDY_BASELINE_H_

// What ReMax compares rewards with (Li et al., 2024, arXiv 2310.10505): the reward of each prompt's greedy completion.

#include <vector>

#include "absl/status/statusor.h"
#include "core/parallel/thread_pool.h"
#include "models/decoder/model.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/learner/step_rewards.h"
#include "rl/rollout/generate.h"

namespace reprise::rl {

// The weighted reward of the most probable completion of each of the tasks, token by token, by the policy as it is.
// `options`: of sampling, whose draws it does not take part in. The same live and in a replay. Errors as
// RewardsOfCompletion.
absl::StatusOr<std::vector<double>> GreedyRewards(const models::Model& policy, const models::Tokenizer& tokenizer,
                                                  const std::vector<TaskRecord>& tasks, GenerateOptions options,
                                                  const RewardOptions& rewards, ThreadPool& pool);

}  // namespace reprise::rl

#endif  // RL_LEARNER_GREEDY_BASELINE_H_
