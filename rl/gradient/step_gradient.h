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
#include "models/decoder/model.h"
#include "rl/gradient/gradient_exchange.h"
#include "rl/gradient/parameter_units.h"
#include "rl/gradient/shard_input.h"
#include "rl/gradient/shard_pass.h"
#include "rl/gradient/unordered_gradient.h"
#include "rl/policy/shard_gradient.h"
#include "rl/policy/shard_scores.h"

namespace reprise::rl {

// How much memory a pass over a shard may use. Changes no bit.
struct PassMemory {
  int64_t max_rows = 0;    // of a micro-batch; 0: no limit
  bool recompute = false;  // activation checkpointing
};

struct GradientResult {
  double norm = 0;     // of the whole gradient, before clipping
  ShardCounts counts;  // of this rank; probability_sum_E: of the whole step
};

class StepGradient {
 public:
  // All references must outlive this. exchange: of MakeTreeExchange over `units` and `options`.
  StepGradient(const models::Model& model, const ShardMap& shards, const std::vector<ParameterUnit>& units,
               const PassMemory& memory, const ExchangeOptions& options, Communicator& comm, TreeExchange& exchange,
               ThreadPool& pool);

  // shard_inputs: of this rank's shards, in order. value_loss: of the model's value function, whose gradient is 0
  // without it. reference: null, or another decoder; the policy's divergence from it is passed to the loss. Collective.
  // Returns on every rank, before any weight has changed, the error of `loss` of the lowest rank that has one;
  // Internal, naming the first tensor, when the gradient is not finite or greater than any loss can produce. After an
  // error there is no gradient, and Compute must not be called again.
  absl::StatusOr<GradientResult> Compute(const std::vector<ShardInput>& shard_inputs, float temperature,
                                         const models::AuxiliaryGradient& auxiliary_E, const CompletionLoss& loss,
                                         const CompletionValueLoss& value_loss = nullptr,
                                         const models::Decoder* reference = nullptr);

  // Computes the scores of the completions under another decoder of the same shape: `receive` is called on the pool's
  // threads. Not collective.
  void Score(const models::Decoder& decoder, const std::vector<ShardInput>& shard_inputs, float temperature,
             const CompletionScores& receive);

  // Computes the logits of the model's policy before every token of the completions; `receive` is called as in Score.
  void ShowLogits(const std::vector<ShardInput>& shard_inputs, const TokenLogits& receive);

  // Computes the values of the completions under the model's value function. Not collective.
  void Evaluate(const std::vector<ShardInput>& shard_inputs, const CompletionValues& receive);

  // Returns how often each expert is chosen over the rows of these shards. Not collective.
  std::vector<int64_t> CountExperts(const std::vector<ShardInput>& shard_inputs);

  // Returns the bytes of activations on this rank.
  int64_t activation_bytes() const;

  // Returns the step's gradient, flat; only the elements that this rank owns are meaningful. Valid until the next
  // Compute.
  absl::Span<const float> reduced() const { return is_ordered_ ? gradient_exchange_.sum() : unordered_.sum(); }

  // Returns the number of pieces of work that threads took over from the thread that runs their shard.
  int64_t helped_pieces() const { return helpers_.helped(); }

  const ExchangeCounts& exchange_counts() const { return gradient_exchange_.counts(); }

 private:
  ShardWorkspace& WorkspaceOf(int worker);
  // Calls work(index, worker) for every shard of the rank; workers without a shard of their own help other workers. The
  // communicating thread calls `meanwhile`, if not null, when it is idle.
  void OnEveryShard(int64_t shards, const std::function<void(int64_t index, int worker)>& work,
                    const std::function<void()>& meanwhile = nullptr);
  absl::StatusOr<ShardCounts> Accumulate(const ShardPass& pass, const ShardInput& input, int worker, float* total,
                                         models::GradientSink* sink);
  absl::StatusOr<ShardCounts> AccumulateShardOf(const ShardPass& pass, int shard, const ShardInput& input, int worker);
  absl::StatusOr<std::vector<ShardCounts>> ComputeInOrder(const ShardPass& pass, const std::vector<ShardInput>& inputs);
  absl::StatusOr<std::vector<ShardCounts>> ComputeInAnyOrder(const ShardPass& pass,
                                                             const std::vector<ShardInput>& inputs);
  absl::StatusOr<double> Norm();
  absl::Status SumProbabilities(const std::vector<ShardCounts>& counts, GradientResult* result);

  const models::Model& model_;
  const ShardMap& shards_;
  const std::vector<ParameterUnit>& units_;
  const PassMemory memory_;
  Communicator& comm_;
  ThreadPool& pool_;
  Helpers helpers_;
  std::vector<std::unique_ptr<ShardWorkspace>> workspaces_;  // by thread
  TreeExchange& exchange_;
  const bool is_ordered_;
  GradientExchange gradient_exchange_;  // for sums in the fixed order
  UnorderedGradient unordered_;         // for sums in any order
};

}  // namespace reprise::rl

#endif  // RL_GRADIENT_STEP_GRADIENT_H_
