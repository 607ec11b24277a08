#ifndef RL_SCHEDULE_MINIBATCHES_H_
#define RL_SCHEDULE_MINIBATCHES_H_

// The updates of one step. An iteration (TRL's num_iterations; num_ppo_epochs) visits all episodes once, split into
// minibatches (num_mini_batches, or as many as have mini_batch_size) after its own shuffle: rl/schedule/loader.h for
// whole episodes, SplitDecisions for single decisions. The old log-probs are those of the sampling policy in all
// iterations.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace reprise::rl {

// What is dealt to minibatches: the episodes of a prompt together, single episodes, or single decisions of episodes.
enum class MinibatchUnit { kGroup, kEpisode, kDecision };

// What early stopping looks at: each minibatch before its update, or the mean over the minibatches of an iteration, of
// which all updates are made.
enum class EarlyStop { kMinibatch, kIteration };

struct UpdateOptions {
  int64_t num_iterations = 1;
  int64_t num_mini_batches = 1;  // at most the number of groups or episodes that are dealt
  int64_t mini_batch_size = 0;   // units of each minibatch, in place of their number; 0: num_mini_batches applies
  MinibatchUnit unit = MinibatchUnit::kGroup;
  double target_kl = 0.0;  // of StopsEarly
  EarlyStop target_kl_of = EarlyStop::kMinibatch;

  bool operator==(const UpdateOptions&) const = default;
};

// Returns whether an iteration may have more than one minibatch.
inline bool HasMinibatches(const UpdateOptions& options) {
  return options.num_mini_batches > 1 || options.mini_batch_size > 0;
}

// Returns the numbers below `count` in the order in which an iteration of a step visits them. The order is drawn from
// step and iteration, so that it depends neither on ranks nor on resumption. Every order has the same probability.
// Pure.
std::vector<int64_t> ShuffledOrder(int64_t count, uint64_t seed, uint64_t step, int64_t iteration);

// Returns how many of `units` units each batch has: `num_batches` batches whose sizes differ by at most one, the larger
// ones first; where num_batches is 0, batches of `batch_size`, the last of which has those that remain. Pure.
std::vector<int64_t> BatchSizes(int64_t units, int64_t num_batches, int64_t batch_size);

// An episode's decisions in a minibatch: indices among the decisions of the episode that are dealt, ascending.
struct DecisionSubset {
  int64_t episode = 0;
  std::vector<int64_t> decisions;

  bool operator==(const DecisionSubset&) const = default;
};

// Deals single decisions, decisions_N of each episode, to the minibatches of an iteration. Returns for each minibatch
// the episodes that have a decision in it, ascending; each decision is in one of them. Where there are fewer decisions
// than num_mini_batches, each has one. Pure.
std::vector<std::vector<DecisionSubset>> SplitDecisions(absl::Span<const int64_t> decisions_N,
                                                        const UpdateOptions& options, uint64_t seed, uint64_t step,
                                                        int64_t iteration);

// Returns whether early stopping triggers for this batch: the policy differs from the sampling policy by more than 1.5
// target_kl (Stable-Baselines3's PPO; Spinning Up). approx_kl: ApproxKl (rl/loss/loss_metrics.h) of the whole
// minibatch, before the update that is then skipped, or its mean over those of an iteration. target_kl 0: never.
inline bool StopsEarly(double approx_kl, double target_kl) { return target_kl > 0.0 && approx_kl > 1.5 * target_kl; }

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_MINIBATCHES_H_
