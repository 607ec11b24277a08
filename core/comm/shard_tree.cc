#include "core/comm/shard_tree.h"

#include <algorithm>
#include <utility>

#include "core/status/check.h"

namespace reprise {

ShardTreeAccumulator::ShardTreeAccumulator(const ShardMap& shards, int rank, BufferPool* pool, AddFloats add)
    : block_(shards.ShardsOf(rank)),
      subtrees_(shards.SubtreesOf(rank)),
      pool_(*pool),
      add_(std::move(add)),
      complete_(static_cast<size_t>(block_.end - block_.begin)) {}

bool ShardTreeAccumulator::IsSubtree(const TreeNode& node) const {
  return std::find(subtrees_.begin(), subtrees_.end(), node) != subtrees_.end();
}

void ShardTreeAccumulator::Complete(int shard, Tensor buffer) {
  CHECK_GE(shard, block_.begin);
  CHECK_LT(shard, block_.end);
  CHECK_EQ(buffer.size(), pool_.size());
  TreeNode node = {0, shard};
  std::unique_lock<std::mutex> lock(mutex_);
  CHECK(!complete_[static_cast<size_t>(shard - block_.begin)]);
  complete_[static_cast<size_t>(shard - block_.begin)] = true;
  while (!IsSubtree(node)) {
    const auto sibling = finished_.find({node.level, node.index ^ 1});
    if (sibling == finished_.end()) break;
    Tensor other = std::move(sibling->second);
    finished_.erase(sibling);
    lock.unlock();  // both buffers are out of reach of other threads
    if (node.index % 2 == 0) std::swap(buffer, other);
    add_(pool_.size(), buffer.data<float>().data(), other.mutable_data<float>().data());
    pool_.Release(std::move(buffer));
    buffer = std::move(other);
    node = {node.level + 1, node.index / 2};
    lock.lock();
  }
  finished_[{node.level, node.index}] = std::move(buffer);
}

std::vector<SubtreeSum> ShardTreeAccumulator::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  CHECK(std::all_of(complete_.begin(), complete_.end(), [](bool complete) { return complete; }));
  CHECK_EQ(finished_.size(), subtrees_.size());
  std::vector<SubtreeSum> sums;
  for (const TreeNode& node : subtrees_) {
    sums.push_back({node, std::move(finished_.at({node.level, node.index}))});
  }
  finished_.clear();
  complete_.assign(complete_.size(), false);
  return sums;
}

}  // namespace reprise
