#ifndef CORE_COMM_SHARD_TREE_H_
#define CORE_COMM_SHARD_TREE_H_

// The part of the shard tree that one rank can add alone.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "core/comm/buffer_pool.h"
#include "core/comm/shard_map.h"
#include "core/tensor/tensor.h"

namespace reprise {

// left[i] += right[i] for i < n. Injected, since only kernels add floats (kernels::AddInto). May use threads of its
// own.
using AddFloats = std::function<void(int64_t n, const float* right, float* left)>;

// The sum of all shards of a node.
struct SubtreeSum {
  TreeNode node;
  Tensor sum;
};

// Adds the flat buffers of a rank's shards as their tree says, whatever the order in which they come: two siblings are
// added, left += right, as soon as both are there, and the right buffer goes back to the pool. So the bits never depend
// on the order of completion. When shards come one after the other in ShardMap::ComputationOrder, no more than 1 + log2
// L buffers are in use at a time, the one that a shard is being computed in included; each further shard that is under
// way at the same time takes one more.
//
// One accumulator serves all steps: Take begins the next one. Complete is thread-safe; additions run on the thread that
// completed the later of two siblings, several at a time.
class ShardTreeAccumulator {
 public:
  // `pool` must outlive the accumulator.
  ShardTreeAccumulator(const ShardMap& shards, int rank, BufferPool* pool, AddFloats add);

  // Hands over the buffer (from the pool) of one shard of this rank's block. Each shard once a step (checked).
  void Complete(int shard, Tensor buffer);

  // The sums of the rank's maximal aligned subtrees, in the order of ShardMap::SubtreesOf. All shards must be complete
  // (checked) and all calls of Complete must have returned. The caller releases the buffers to the pool.
  std::vector<SubtreeSum> Take();

 private:
  using Key = std::pair<int, int>;  // level, index

  bool IsSubtree(const TreeNode& node) const;

  const ShardRange block_;
  const std::vector<TreeNode> subtrees_;
  BufferPool& pool_;
  const AddFloats add_;

  std::mutex mutex_;
  std::vector<bool> complete_;      // by shard of the block
  std::map<Key, Tensor> finished_;  // nodes that wait for their sibling, or are a subtree
};

}  // namespace reprise

#endif  // CORE_COMM_SHARD_TREE_H_
