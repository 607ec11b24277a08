#ifndef RL_GRADIENT_UNORDERED_GRADIENT_H_
#define RL_GRADIENT_UNORDERED_GRADIENT_H_

// Computes the gradient of run.reduction = "fast", whose sums have no fixed order: the baseline against which the cost
// of the order contract is measured. Each thread of a rank takes an equal share of the rank's groups as one shard,
// whatever the logical shards are; the threads' gradients are added, and MPI adds the ranks'.

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "core/comm/communicator.h"
#include "core/parallel/thread_pool.h"
#include "core/tensor/tensor.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

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
std::vector<ShardInput> SharesOf(const Policy& policy, const std::vector<ShardInput>& inputs, int shares);

}  // namespace reprise::rl

#endif  // RL_GRADIENT_UNORDERED_GRADIENT_H_
