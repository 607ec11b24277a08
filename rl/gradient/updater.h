#ifndef RL_GRADIENT_UPDATER_H_
#define RL_GRADIENT_UPDATER_H_

// Turns the losses of a step into new weights on every rank: gradient, norm, clipping, the optimizer's update of the
// parameters that each rank owns, and the exchange of the result. Everything here is collective unless a comment says
// otherwise.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/comm/self_communicator.h"
#include "rl/gradient/sharded_optimizer.h"
#include "rl/gradient/step_gradient.h"

namespace reprise::rl {

class Updater {
 public:
  // `policy` is changed by Apply. max_grad_norm 0: no clipping. All references must outlive this.
  Updater(Policy& policy, const ShardMap& shards, std::unique_ptr<ShardedOptimizer> optimizer, double max_grad_norm,
          const PassMemory& memory, const ExchangeOptions& exchange, Communicator& comm, ThreadPool& pool);

  // Returns the gradient that Apply uses; its forward passes share the gradient's memory.
  StepGradient& gradient() { return gradient_; }

  // Clips the last computed gradient to max_grad_norm, updates the weights, and refreshes the policy on every rank.
  // rate_key: the key that the learning rate comes from, for messages. Internal, on every rank and naming the tensor,
  // where a new weight or a number of the optimizer's state is out of bounds: both are then invalid, and the caller
  // must not store them.
  // adjust, if any, is called on every rank when the weights are new and before the policy is refreshed: it may change
  // them, on all ranks in the same way.
  absl::Status Apply(double gradient_norm, double learning_rate, absl::string_view rate_key,
                     const std::function<void()>& adjust = nullptr);

  // Sets the optimizer to its state before the first update, for a new phase. Not collective.
  void Reset();

  // Restores the state after `updates` updates, as GatherState returned it. Not collective.
  void Restore(const std::vector<FlatGroup>& state, int64_t updates);
  int64_t updates() const { return updates_; }

  // SHA-256 by tensor, on rank 0 (empty elsewhere), of the last gradient before clipping and of the weights.
  struct Digests {
    std::vector<Digest> gradient, weights;
  };
  absl::StatusOr<Digests> DigestTensors();

  // Returns the optimizer's state, all groups whole, on every rank.
  absl::StatusOr<std::vector<FlatGroup>> GatherState();

 private:
  absl::Status CorruptionError(double learning_rate, absl::string_view rate_key) const;

  Policy& policy_;
  const std::unique_ptr<ShardedOptimizer> optimizer_;
  const double max_grad_norm_;
  SelfCommunicator alone_;
  Communicator& all_;   // of all ranks
  Communicator& comm_;  // of the ranks that share the ownership of parameters
  ThreadPool& pool_;
  const std::vector<ParameterUnit> units_;
  TreeExchange exchange_;
  const std::vector<ParameterUnit> owned_;  // the units of this rank
  StepGradient gradient_;
  int64_t updates_ = 0;
};

}  // namespace reprise::rl

#endif  // RL_GRADIENT_UPDATER_H_
