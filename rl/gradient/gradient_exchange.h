#ifndef RL_GRADIENT_GRADIENT_EXCHANGE_H_
#define RL_GRADIENT_GRADIENT_EXCHANGE_H_

// Sends the gradients of a rank's shards to the owners of the parameters: each parameter unit of a shard is added to
// the shard tree as soon as it is final, and when the units of a bucket are final in all shards of the rank, their sums
// are sent while the backward pass of the last shards is still running.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/comm/exchange/buffer_pool.h"
#include "core/comm/exchange/shard_map.h"
#include "core/comm/exchange/shard_tree.h"
#include "core/comm/exchange/tree_exchange.h"
#include "rl/gradient/parameter_units.h"

namespace reprise::rl {

// How gradients are exchanged between ranks. Changes no bit, except with in_any_order.
struct ExchangeOptions {
  // run.reduction = "fast": every rank has the total gradient, owns all parameters, and updates all of them.
  bool in_any_order = false;
  bool overlap = true;                // start sending while the rank still computes
  int64_t floats_per_rank = 1 << 18;  // that are sent together, about
};

// Counts since the start, for tests and execution.jsonl.
struct ExchangeCounts {
  int64_t buckets = 0;        // sent by this rank
  int64_t early_buckets = 0;  // of these, sent while a shard of the rank was still running
};

// Returns the exchange of the gradients and weights of `units`, in backward order: the reverse of the layout's.
TreeExchange MakeTreeExchange(const std::vector<ParameterUnit>& units, const ShardMap& shards,
                              const ExchangeOptions& options, Communicator* comm);
// Returns the buckets of that exchange without a communicator.
std::vector<ExchangeBucket> BackwardBuckets(const std::vector<ParameterUnit>& units, const Ownership& ownership,
                                            int64_t floats_per_rank);

class GradientExchange {
 public:
  // All references must outlive this. exchange: of MakeTreeExchange. size: number of floats of a gradient.
  GradientExchange(const std::vector<ParameterUnit>& units, int64_t size, const ShardMap& shards, bool overlap,
                   int rank, TreeExchange& exchange);

  BufferPool& buffers() { return buffers_; }

  // Releases the last step's sums. Called once per step, before StartShard.
  void Begin();

  // Registers `total` (from buffers()) as the memory that the shard's gradient is computed into. May be called from any
  // thread.
  void StartShard(int shard, Tensor total);

  // Called once per tensor of a shard, when it is final. `sends`: it is called on the communicator's thread, and may
  // therefore send and receive.
  void FinishTensor(int shard, int spec, bool sends);

  // Called once per shard when all of it is final, or when it has failed: then the sums are no gradient, but the ranks'
  // messages still match.
  void FinishShard(int shard);

  // Called on the communicator's thread. Sends the buckets that are final, if overlapping, and finishes those that have
  // arrived, without waiting. Returns false if nothing is left to be sent or received, or the communicator has failed.
  bool Advance();

  // Collective; called after FinishShard of all shards of the rank. Afterwards sum() holds the totals. Returns the
  // communicator's errors.
  absl::Status Complete();

  // Returns the step's gradient, flat; only the elements that this rank owns are meaningful. Valid until the next
  // Begin.
  absl::Span<const float> sum() const { return sums_[0].sum.data<float>(); }

  const ExchangeCounts& counts() const { return counts_; }

 private:
  void FinishUnit(int shard, int unit);
  void UnitIsFinal(int unit);
  absl::Status SendFinalBuckets();

  const bool overlap_;
  BufferPool buffers_;
  ShardTreeAccumulator accumulator_;
  BucketSum* const sum_;                         // null on one rank
  std::vector<std::vector<int>> units_of_spec_;  // by spec
  std::vector<std::vector<int>> buckets_of_unit_;
  std::vector<int> units_of_bucket_;                // number of units, by bucket
  std::unique_ptr<std::atomic<int>[]> open_units_;  // by bucket: not yet final on this rank
  std::atomic<int> open_shards_{0};
  const int shards_of_rank_;
  absl::Status communication_;
  std::vector<SubtreeSum> sums_;
  ExchangeCounts counts_;
};

}  // namespace reprise::rl

#endif  // RL_GRADIENT_GRADIENT_EXCHANGE_H_
