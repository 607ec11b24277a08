#ifndef CORE_COMM_EXCHANGE_SHARD_TREE_H_
#define CORE_COMM_EXCHANGE_SHARD_TREE_H_

// The part of the shard tree that one rank can add alone.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/comm/exchange/buffer_pool.h"
#include "core/comm/exchange/ownership.h"
#include "core/comm/exchange/shard_map.h"
#include "core/tensor/tensor.h"

namespace reprise {

// left[i] += right[i] for i < n. Injected, because only kernels add floats (kernels::AddInto). May use its own threads.
using AddFloats = std::function<void(int64_t n, const float* right, float* left)>;

// The sum of all shards of a node.
struct SubtreeSum {
  TreeNode node;
  Tensor sum;
};

// Adds the flat buffers of a rank's shards in the order of their tree, whatever the order of completion: two siblings
// are added, left += right, as soon as both are complete, part by part, and the right buffer returns to the pool after
// its last part. So the bits never depend on the order of completion. If shards are computed one after the other in
// ShardMap::ComputationOrder, at most 1 + log2 L buffers are in use at a time, including the one in which a shard is
// being computed; each further shard that is computed at the same time takes one more.
//
// One accumulator serves all steps: Take starts the next one. Thread-safe, except for Take; calls for one shard must
// not be concurrent. An addition runs on the thread that completed the later of two siblings; several run at a time.
class ShardTreeAccumulator {
 public:
  // parts: disjoint ranges of the buffers that are completed together; elements in no part are unspecified in the sums.
  // `pool` must outlive the accumulator.
  ShardTreeAccumulator(const ShardMap& shards, int rank, BufferPool* pool, AddFloats add, std::vector<FlatRange> parts);
  // As above, with one part: the whole buffer.
  ShardTreeAccumulator(const ShardMap& shards, int rank, BufferPool* pool, AddFloats add);

  // Takes ownership of the buffer (from the pool) in which a shard of this rank's block is being computed. Called once
  // per shard and step (checked).
  void Start(int shard, Tensor buffer);

  // Reports that part `part` of the shard is final; at most once (checked). Returns true if it is final in all shards
  // of the rank: then the rank's sums of that part in Sums() are final, and stay valid until Take.
  bool FinishPart(int shard, int part);

  // Reports the remaining parts of the shard as final; returns those that became final in all shards of the rank.
  std::vector<int> FinishRest(int shard);

  // Calls Start and FinishRest.
  void Complete(int shard, Tensor buffer);

  // The sums of the rank's maximal aligned subtrees, in the order of ShardMap::SubtreesOf, once a part is final.
  std::vector<float*> Sums();

  // As Sums, but transfers ownership. All shards must be complete (checked) and all other calls must have returned. The
  // caller must release the buffers to the pool.
  std::vector<SubtreeSum> Take();

 private:
  // A node's sum is in the buffer of its first shard.
  struct Node {
    int unconsumed = 0;         // parts not yet added into the left sibling
    std::vector<bool> is_done;  // by part
  };
  using Key = std::pair<int, int>;  // level, index

  bool IsSubtree(const TreeNode& node) const;
  Tensor& BufferOf(const TreeNode& node) { return buffers_[node.begin() - block_.begin]; }
  Node& StateOf(const TreeNode& node);
  bool Rise(TreeNode node, int part);

  const ShardRange block_;
  const std::vector<TreeNode> subtrees_;
  BufferPool& pool_;
  const AddFloats add_;
  const std::vector<FlatRange> parts_;

  std::mutex mutex_;
  std::vector<Tensor> buffers_;     // by shard of the block; empty before Start and after release
  std::vector<bool> started_;       // by shard of the block
  std::map<Key, Node> nodes_;       // those with at least one finished part
  std::vector<int> open_subtrees_;  // by part: subtrees in which it is not final
  int64_t open_parts_ = 0;          // of all subtrees
};

}  // namespace reprise

#endif  // CORE_COMM_EXCHANGE_SHARD_TREE_H_
