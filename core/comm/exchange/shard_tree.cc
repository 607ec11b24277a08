#include "core/comm/exchange/shard_tree.h"

#include <algorithm>
#include <utility>

#include "core/status/check.h"

namespace reprise {

ShardTreeAccumulator::ShardTreeAccumulator(const ShardMap& shards, int rank, BufferPool* pool, AddFloats add,
                                           std::vector<FlatRange> parts)
    : block_(shards.ShardsOf(rank)),
      subtrees_(shards.SubtreesOf(rank)),
      pool_(*pool),
      add_(std::move(add)),
      parts_(std::move(parts)),
      buffers_(static_cast<size_t>(block_.end - block_.begin)),
      started_(buffers_.size()),
      open_subtrees_(parts_.size(), static_cast<int>(subtrees_.size())),
      open_parts_(static_cast<int64_t>(parts_.size() * subtrees_.size())) {
  for (const FlatRange& part : parts_) CHECK_LE(part.offset + part.size, pool_.size());
}

ShardTreeAccumulator::ShardTreeAccumulator(const ShardMap& shards, int rank, BufferPool* pool, AddFloats add)
    : ShardTreeAccumulator(shards, rank, pool, std::move(add), {{0, pool->size()}}) {}

bool ShardTreeAccumulator::IsSubtree(const TreeNode& node) const {
  return std::find(subtrees_.begin(), subtrees_.end(), node) != subtrees_.end();
}

ShardTreeAccumulator::Node& ShardTreeAccumulator::StateOf(const TreeNode& node) {
  Node& state = nodes_[{node.level, node.index}];
  if (state.is_done.empty()) {
    state.is_done.resize(parts_.size());
    state.unconsumed = static_cast<int>(parts_.size());
  }
  return state;
}

void ShardTreeAccumulator::Start(int shard, Tensor buffer) {
  CHECK_GE(shard, block_.begin);
  CHECK_LT(shard, block_.end);
  CHECK_EQ(buffer.size(), pool_.size());
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t index = static_cast<size_t>(shard - block_.begin);
  CHECK(!started_[index]);
  started_[index] = true;
  buffers_[index] = std::move(buffer);
}

bool ShardTreeAccumulator::FinishPart(int shard, int part) { return Rise({0, shard}, part); }

// Called when the part of `node` is done: adds upwards from there as long as the siblings are done too.
bool ShardTreeAccumulator::Rise(TreeNode node, int part) {
  const FlatRange range = parts_[part];
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    const auto is_done = StateOf(node).is_done.begin() + part;
    CHECK(!*is_done);
    *is_done = true;
    if (IsSubtree(node)) {
      --open_parts_;
      return --open_subtrees_[part] == 0;
    }
    const TreeNode sibling = {node.level, node.index ^ 1};
    if (!StateOf(sibling).is_done[part]) return false;
    const TreeNode left = node.index % 2 == 0 ? node : sibling, right = node.index % 2 == 0 ? sibling : node;
    float* const left_floats = BufferOf(left).mutable_data<float>().data() + range.offset;
    const float* const right_floats = BufferOf(right).data<float>().data() + range.offset;
    lock.unlock();  // no other thread uses this part of the two
    add_(range.size, right_floats, left_floats);
    lock.lock();
    if (--StateOf(right).unconsumed == 0) pool_.Release(std::exchange(BufferOf(right), Tensor()));
    node = {node.level + 1, node.index / 2};
  }
}

std::vector<int> ShardTreeAccumulator::FinishRest(int shard) {
  std::vector<int> rest, final_parts;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    CHECK(started_[shard - block_.begin]);
    const Node& state = StateOf({0, shard});
    for (size_t part = 0; part < parts_.size(); ++part) {
      if (!state.is_done[part]) rest.push_back(static_cast<int>(part));
    }
  }
  for (int part : rest) {
    if (FinishPart(shard, part)) final_parts.push_back(part);
  }
  return final_parts;
}

void ShardTreeAccumulator::Complete(int shard, Tensor buffer) {
  Start(shard, std::move(buffer));
  FinishRest(shard);
}

std::vector<float*> ShardTreeAccumulator::Sums() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<float*> sums;
  for (const TreeNode& node : subtrees_) sums.push_back(BufferOf(node).mutable_data<float>().data());
  return sums;
}

std::vector<SubtreeSum> ShardTreeAccumulator::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  CHECK(std::all_of(started_.begin(), started_.end(), [](bool started) { return started; }));
  CHECK_EQ(open_parts_, 0);
  std::vector<SubtreeSum> sums;
  for (const TreeNode& node : subtrees_) sums.push_back({node, std::exchange(BufferOf(node), Tensor())});
  nodes_.clear();
  started_.assign(started_.size(), false);
  open_subtrees_.assign(parts_.size(), static_cast<int>(subtrees_.size()));
  open_parts_ = static_cast<int64_t>(parts_.size() * subtrees_.size());
  return sums;
}

}  // namespace reprise
