#ifndef RL_POLICY_POLICY_H_
#define RL_POLICY_POLICY_H_

// A policy as the training loop sees it: parameters in one flat array, and passes over shards of a step's episodes.
// What an episode consists of, only the policy knows; the loop sees decisions: their scores, their values and the
// gradients with respect to these.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/parallel/team.h"
#include "core/parallel/thread_pool.h"
#include "core/tensor/flat_layout.h"
#include "rl/policy/decision_scores.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// Episodes of one prompt, which a pass computes together. Views of the step's records.
struct EpisodeGroup {
  const TaskRecord* task = nullptr;
  std::vector<const EpisodeRecord*> episode_G;  // at least one
  std::vector<int64_t> index_G;                 // of each among all episodes of this rank, which callbacks receive
  int64_t step = 0;                             // of the phase, in which the episodes were drawn
  Phase phase = Phase::kTraining;
};

// One shard's share of the episodes of an update.
using ShardInput = std::vector<EpisodeGroup>;

// The loss of one episode, of which it receives the index: reads its scores and writes its gradients over zeros, or
// returns an error for non-finite numbers. The value loss does so for the values of its states.
using EpisodeLoss =
    std::function<absl::Status(int64_t episode, const DecisionScores& scores, const DecisionGradients& gradients)>;
using EpisodeValueLoss =
    std::function<absl::Status(int64_t episode, absl::Span<const float> value_T, absl::Span<float> dvalue_T)>;
using EpisodeScores =
    std::function<void(int64_t episode, absl::Span<const float> logprob_T, absl::Span<const float> entropy_T)>;
using EpisodeNumbers = std::function<void(int64_t episode, absl::Span<const float> number_T)>;

// How much memory a pass over a shard may use. Changes no bit.
struct PassMemory {
  int64_t max_rows = 0;    // of a micro-batch; 0: no limit
  bool recompute = false;  // activation checkpointing
};

// The memory of one thread for passes, reused across shards.
class PassWorkspace {
 public:
  virtual ~PassWorkspace() = default;
  virtual int64_t activation_bytes() const = 0;
};

// Sums over all ranks, which a policy's own loss terms need.
struct PassTotals {
  int64_t step_rows = 0, rows = 0;    // of the whole step, and of the episodes of this update
  std::vector<int64_t> count_C = {};  // Policy::CountShard, over the whole step
  bool learns = true;                 // whether an update follows

  // The part of the step that the update's rows stand for, as a factor.
  double part() const { return static_cast<double>(step_rows) / static_cast<double>(rows); }
};

class Policy;

// What all shards of an update share. An episode's loss is called before its value loss.
struct ShardPass {
  float temperature = 1;  // at which decisions are drawn
  const PassTotals& totals;
  const EpisodeLoss& loss;
  const EpisodeValueLoss& value_loss;  // null: the value function's gradient is 0
  const Policy* reference = nullptr;   // null, or a frozen copy: the divergence from it is passed to the loss
  bool clips_attention = false;        // whether Policy::ClipAttention follows
};

// Replaces each number by the greater one of the same place. The first array takes the size of the second.
inline void KeepLargest(absl::Span<const float> others, std::vector<float>* largest) {
  if (largest->empty()) largest->assign(others.begin(), others.end());
  for (size_t i = 0; i < others.size(); ++i) (*largest)[i] = std::max((*largest)[i], others[i]);
}

// Where a shard's gradient goes: arrays in the policy's layout.
struct PassTarget {
  float* total = nullptr;
  float* open = nullptr;  // memory of the same size; null where PassMemory has no limit
  // Called with the index of each tensor when its gradient is final, on the thread that runs the shard. May be null.
  std::function<void(int spec)> finished = nullptr;
};

struct PassResult {
  PassCounts counts;
  std::vector<double> sum_M;          // of the policy's own loss terms; added in the tree over shards
  std::vector<float> largest_logits;  // attention logits, as ClipAttention takes them; empty if there is no attention
};

// Passes (the functions with a workspace) run at the same time on several threads, each with a workspace of its own.
// They are deterministic, and neither PassMemory nor the workspace's team changes a bit of a result.
class Policy {
 public:
  virtual ~Policy() = default;

  virtual const FlatLayout& layout() const = 0;
  virtual absl::Span<const float> parameters() const = 0;
  virtual absl::Span<float> mutable_parameters() = 0;

  // Must be called after every change of the parameters. `change`, if any, is called for ranges of the flat parameters,
  // which it may modify: the ranges cover all parameters, without overlap. It is called by several threads at once.
  using RangeFunction = std::function<void(int64_t first, int64_t size)>;
  virtual void Refresh(ThreadPool& pool, const RangeFunction& change = nullptr) = 0;

  // Prepares a value function for the first training step, after the SFT phase.
  virtual void StartValueFunction(ThreadPool& pool) = 0;

  // Returns a copy without a value function, for forward passes only, whose numbers no change of this policy changes.
  // The policy must have been refreshed since its last change. Workspaces of one fit the other.
  virtual std::unique_ptr<Policy> FrozenCopy() const = 0;
  virtual FlatLayout FrozenLayout() const = 0;  // that of the copy

  // For a frozen copy: changes the parameters to alpha policy + (1 - alpha) own ones, a copy where alpha is 1 (TRL's
  // sync_ref_model). The result is the same on every rank.
  virtual void MoveTowards(const Policy& policy, double alpha, ThreadPool& pool) = 0;
  // Returns whether this is a frozen copy that computes the same bits as `other`, because neither has changed.
  virtual bool SharesWith(const Policy& other) const = 0;

  virtual std::unique_ptr<PassWorkspace> NewWorkspace(const PassMemory& memory, const Team& team) const = 0;

  // Returns the number of rows that a pass stands for, of the shard or of a part of one: what load balancing averages
  // over. That of a step is the sum over its prompts, however they are dealt to shards.
  virtual int64_t RowsOf(const ShardInput& shard) const = 0;

  // Returns counts of the policy's own, num_counts() integers: how often each expert of a mixture was chosen, of which
  // every layer has counts_per_layer(), then others.
  virtual std::vector<int64_t> CountShard(const ShardInput& shard, PassWorkspace* workspace) const = 0;
  virtual size_t num_counts() const = 0;
  virtual int64_t counts_per_layer() const = 0;
  virtual bool loss_needs_counts() const = 0;

  // Computes the gradient of one shard: assigns all of target.total, and reports every tensor of a shard that has
  // groups. Returns the first error of a loss, in order of episodes; the gradient is then incomplete.
  virtual absl::StatusOr<PassResult> Accumulate(const ShardPass& pass, const ShardInput& shard,
                                                const PassTarget& target, PassWorkspace* workspace) const = 0;

  // Returns the metrics of the policy's own loss terms. sum_M: PassResult::sum_M, of the whole update.
  virtual Metrics OwnMetrics(const PassTotals& totals, absl::Span<const double> sum_M) const = 0;

  // QK-clip: changes parameters so that no attention logit of the states of a pass is greater than the threshold.
  // largest_logits: PassResult's, the greatest over all shards. Returns how many heads had greater ones. Refresh must
  // follow. A policy without attention changes nothing.
  virtual int64_t ClipAttention(absl::Span<const float> largest_logits, double threshold) {
    static_cast<void>(largest_logits), static_cast<void>(threshold);
    return 0;
  }

  // Calls `receive` for every episode, in order: with the bits that Accumulate's loss sees for the same parameters.
  virtual void Score(const ShardInput& shard, float temperature, const EpisodeScores& receive,
                     PassWorkspace* workspace) const = 0;

  // As Score, with the log-probabilities under the distributions that the decisions were drawn from, where sampling
  // filters the policy's: the bits of sampling, -infinity for a decision that is never drawn.
  virtual void ScoreBehaviour(const ShardInput& shard, const EpisodeNumbers& receive,
                              PassWorkspace* workspace) const = 0;

  // As Score, with the values of the states before the decisions. `after_truncation`: a truncated episode has one value
  // more, of the state after its last decision.
  virtual void PredictValues(const ShardInput& shard, bool after_truncation, const EpisodeNumbers& receive,
                             PassWorkspace* workspace) const = 0;

  // Running statistics of episodes, which a policy may keep among its parameters to normalise what it sees. After the
  // updates of a training step, where `observes`, TakeObservations receives what Observe returned for each episode of
  // the step, by prompt, then sample, and moves the statistics: the same bits on every rank. Observe is pure.
  virtual bool observes() const { return false; }
  virtual std::vector<double> Observe(const EpisodeRecord& episode) const {
    static_cast<void>(episode);
    return {};
  }
  virtual void TakeObservations(const std::vector<std::vector<double>>& of_episode_N, ThreadPool& pool) {
    static_cast<void>(of_episode_N), static_cast<void>(pool);
  }

  // Describes the first corrupted tensor, causes before effects: a parameter, a tensor of the forward pass of the
  // episode alone, or a copy of a parameter; "" if there is none. Takes the time of a few passes.
  virtual std::string FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const = 0;
};

}  // namespace reprise::rl

#endif  // RL_POLICY_POLICY_H_
