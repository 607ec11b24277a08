#ifndef RL_SCHEDULE_MINIBATCHES_H_
#define RL_SCHEDULE_MINIBATCHES_H_

// The updates of one step. An iteration (TRL's num_iterations; num_ppo_epochs) visits all episodes once, split into
// minibatches (num_mini_batches) after its own shuffle: rl/schedule/loader.h. The old log-probs are those of the
// sampling policy in all iterations.

#include <cstdint>
#include <vector>

namespace reprise::rl {

struct UpdateOptions {
  int64_t num_iterations = 1;
  int64_t num_mini_batches = 1;  // at most the number of prompts, or of episodes with by_episode
  bool by_episode = false;       // episodes are dealt individually, not together with their prompt's others
  double target_kl = 0.0;        // of StopsEarly
};

// Returns the numbers below `count` in the order in which an iteration of a step visits them. The order is drawn from
// step and iteration, so that it depends neither on ranks nor on resumption. Every order has the same probability.
// Pure.
std::vector<int64_t> ShuffledOrder(int64_t count, uint64_t seed, uint64_t step, int64_t iteration);

// Returns whether early stopping triggers for this batch: the policy differs from the sampling policy by more than 1.5
// target_kl (Stable-Baselines3's PPO; Spinning Up). approx_kl: ApproxKl (rl/loss/loss_metrics.h) of the whole
// minibatch, before the update that is then skipped. target_kl 0: never.
inline bool StopsEarly(double approx_kl, double target_kl) { return target_kl > 0.0 && approx_kl > 1.5 * target_kl; }

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_MINIBATCHES_H_
