#ifndef RL_GRADIENT_STEP_GRADIENT_H_
#define RL_GRADIENT_STEP_GRADIENT_H_

// Computes the gradient of one optimizer step over all ranks: every logical shard alone, the sum of the shards in their
// fixed tree, of which each rank receives the parameters that it owns, and the norm of the whole.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "core/comm/exchange/shard_map.h"
#include "core/comm/exchange/tree_exchange.h"
#include "core/parallel/helpers.h"
#include "core/parallel/thread_pool.h"
#include "core/tensor/tensor.h"
#include "rl/gradient/gradient_exchange.h"
#include "rl/gradient/parameter_units.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

// Computes the gradient of run.reduction = "fast", whose sums have no fixed order: the baseline against which the cost
// of the order contract is measured. Each thread of a rank takes an equal share of the rank's groups as one shard,
// whatever the logical shards are; the threads' gradients are added, and MPI adds the ranks'.
class UnorderedGradient {
 public:
  // `size` floats. All references must outlive this.
  UnorderedGradient(int64_t size, Communicator& comm, ThreadPool& pool);

  // Computes the gradient of a share into `total`, on a thread.
  using Accumulate = std::function<absl::Status(int64_t share, const ShardInput& input, int worker, Tensor& total)>;

  // Collective. Returns on every rank the error of `accumulate` of the lowest rank that has one.
  absl::Status Compute(const std::vector<ShardInput>& shares, const Accumulate& accumulate);

  absl::Span<const float> sum() const { return totals_[0].data<float>(); }

 private:
  const int64_t size_;
  Communicator& comm_;
  ThreadPool& pool_;
  std::vector<Tensor> totals_;  // by share
};

// Returns the groups of all inputs in `shares` parts of nearly equal work, in order.
std::vector<ShardInput> SplitIntoShares(const Policy& policy, const std::vector<ShardInput>& inputs, int shares);

struct GradientResult {
  double norm = 0;                    // of the whole gradient, before clipping
  PassCounts counts;                  // of this rank
  std::vector<double> sum_M;          // of the policy's own loss terms, over the whole step
  std::vector<float> largest_logits;  // of all ranks, if the pass clips attention
};

class StepGradient {
 public:
  // All references must outlive this. exchange: of MakeTreeExchange over `units` and `options`.
  StepGradient(const Policy& policy, const ShardMap& shards, const std::vector<ParameterUnit>& units,
               const PassMemory& memory, const ExchangeOptions& options, Communicator& comm, TreeExchange& exchange,
               ThreadPool& pool);

  // inputs: of this rank's shards, in order. Collective. Returns on every rank, before any weight has changed, the
  // error of a loss of the lowest rank that has one; Internal, naming the first tensor, when the gradient is not finite
  // or greater than any loss can produce. After an error there is no gradient, and Compute must not be called again.
  absl::StatusOr<GradientResult> Compute(const std::vector<ShardInput>& inputs, const ShardPass& pass);

  // Calls `work` for every shard, on the pool's threads, with a workspace of the policy's for a pass over it. Not
  // collective.
  using ShardWork = std::function<void(const ShardInput& input, PassWorkspace* workspace)>;
  void ForEachShard(const std::vector<ShardInput>& inputs, const ShardWork& work);

  // Returns the bytes of activations on this rank.
  int64_t activation_bytes() const;

  // Returns the step's gradient, flat; only the elements that this rank owns are meaningful. Valid until the next
  // Compute.
  absl::Span<const float> reduced() const { return is_ordered_ ? gradient_exchange_.sum() : unordered_.sum(); }

  // Returns the number of pieces of work that threads took over from the thread that runs their shard.
  int64_t helped_pieces() const { return helpers_.helped(); }

  const ExchangeCounts& exchange_counts() const { return gradient_exchange_.counts(); }

 private:
  PassWorkspace* WorkerWorkspace(int worker);
  // Calls work(index, worker) for every shard of the rank; workers without a shard of their own help other workers. The
  // communicating thread calls `meanwhile`, if not null, when it is idle.
  void OnEveryShard(int64_t shards, const std::function<void(int64_t index, int worker)>& work,
                    const std::function<void()>& meanwhile = nullptr);
  absl::StatusOr<PassResult> Accumulate(const ShardPass& pass, const ShardInput& input, int worker, PassTarget target);
  absl::StatusOr<PassResult> AccumulateOneShard(const ShardPass& pass, int shard, const ShardInput& input, int worker);
  absl::StatusOr<std::vector<PassResult>> ComputeInOrder(const ShardPass& pass, const std::vector<ShardInput>& inputs);
  absl::StatusOr<std::vector<PassResult>> ComputeInAnyOrder(const ShardPass& pass,
                                                            const std::vector<ShardInput>& inputs);
  absl::StatusOr<double> Norm();
  absl::Status AddResults(const std::vector<PassResult>& shards, bool clips_attention, GradientResult* result);

  const Policy& policy_;
  const ShardMap& shards_;
  const std::vector<ParameterUnit>& units_;
  const PassMemory memory_;
  Communicator& comm_;
  ThreadPool& pool_;
  Helpers helpers_;
  std::vector<std::unique_ptr<PassWorkspace>> workspaces_;  // by thread
  TreeExchange& exchange_;
  const bool is_ordered_;
  GradientExchange gradient_exchange_;  // for sums in the fixed order
  UnorderedGradient unordered_;         // for sums in any order
};

}  // namespace reprise::rl

#endif  // RL_GRADIENT_STEP_GRADIENT_H_
