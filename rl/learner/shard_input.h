#ifndef RL_LEARNER_SHARD_INPUT_H_
#define RL_LEARNER_SHARD_INPUT_H_

#include <cstdint>
#include <vector>

#include "rl/policy/shard_forward.h"

namespace reprise::rl {

// One shard's share of a step.
struct ShardInput {
  std::vector<TrainingGroup> groups;
  std::vector<int64_t> group_of;  // what callbacks are told that each is: its index among all groups of this rank
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_SHARD_INPUT_H_
