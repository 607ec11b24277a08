#ifndef RL_SCHEDULE_MINIBATCHES_H_
#define RL_SCHEDULE_MINIBATCHES_H_

// Which prompts each update from one batch learns from. An iteration (TRL's num_iterations; num_ppo_epochs) visits all
// prompts once, cut into minibatches (num_mini_batches) after a shuffle of its own; the old log-probs stay those of the
// sampling policy throughout. A group is never cut: its completions share a prompt. Shuffles are draws by step and
// iteration, so that neither ranks nor a resumption can change them.

#include <cstdint>
#include <vector>

namespace reprise::rl {

struct UpdateOptions {
  int64_t num_iterations = 1;
  int64_t num_mini_batches = 1;  // at most the number of prompts
  bool shuffle = true;           // without effect on a single minibatch, whose prompts stay in order
  double target_kl = 0.0;        // rl/schedule/early_stop.h
};

struct Minibatch {
  int64_t iteration = 0;
  std::vector<int64_t> prompts;  // indices within the step, ascending
};

// The updates of a step in order. Sizes differ by one at most, the greater ones first. 1 <= num_mini_batches <=
// num_prompts (checked). Pure.
std::vector<Minibatch> MinibatchesOf(int64_t num_prompts, const UpdateOptions& options, uint64_t seed, uint64_t step);

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_MINIBATCHES_H_
