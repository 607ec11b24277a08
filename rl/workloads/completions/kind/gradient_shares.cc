#include "rl/workloads/completions/kind/gradient_shares.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/comm/exchange/ownership.h"
#include "core/comm/exchange/shard_map.h"
#include "core/comm/exchange/tree_exchange.h"
#include "core/status/check.h"
#include "rl/gradient/gradient_exchange.h"
#include "rl/gradient/parameter_units.h"
#include "rl/workload/workload.h"

namespace reprise::rl {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The maximum number of gradients in use when the rank computes its shards sequentially.
int64_t SequentialBuffers(const ShardMap& shards, int rank) {
  const std::vector<TreeNode> subtrees = shards.SubtreesOf(rank);
  std::set<std::pair<int, int>> finished;
  size_t most = 0;
  for (int shard : shards.ComputationOrder(rank)) {
    most = std::max(most, finished.size() + 1);
    TreeNode node = {0, shard};
    while (std::find(subtrees.begin(), subtrees.end(), node) == subtrees.end() &&
           finished.erase({node.level, node.index ^ 1}) > 0) {
      node = {node.level + 1, node.index / 2};
    }
    finished.insert({node.level, node.index});
  }
  return static_cast<int64_t>(std::max(most, finished.size()));
}

ShardMap MakeShardMap(int64_t logical_shards, int64_t ranks) {
  absl::StatusOr<ShardMap> map = ShardMap::Create(static_cast<int>(logical_shards), static_cast<int>(ranks));
  CHECK(map.ok());
  return *std::move(map);
}

// The maximum number of prompts of a step on one rank.
int64_t PromptsOfRank(const ShardMap& shards, int64_t prompts_per_step) {
  int64_t most = 0;
  for (int rank = 0; rank < shards.ranks(); ++rank) {
    const ShardRange range = shards.ShardsOf(rank);
    const auto first = [&](int shard) { return FirstPromptOfShard(prompts_per_step, shards.shards(), shard); };
    most = std::max(most, first(range.end) - first(range.begin));
  }
  return most;
}

// Rows of the largest batch of a shard of `groups` equal groups: whole groups, or, where those are too long,
// completions, of which a single one may exceed the bound.
int64_t LargestBatch(int64_t groups, int64_t prompt, int64_t completion, int64_t generations, int64_t max_rows) {
  const int64_t all = groups * (prompt + completion * generations);
  return max_rows == 0 ? all : std::min(all, std::max({max_rows, prompt, completion}));
}

// training_groups, sft_groups: groups that are computed together, unless they are cut.
int64_t RowsOfLargestBatch(const Config& config, int64_t training_groups, int64_t sft_groups,
                           const LongestTexts& longest) {
  const int64_t max_rows = config.execution.micro_batch_tokens;
  const int64_t training = LargestBatch(training_groups, longest.prompt, config.rollout.max_completion_length - 1,
                                        config.rollout.num_generations, max_rows);
  if (config.sft.steps == 0) return training;
  return std::max(training, LargestBatch(sft_groups, longest.sft, 0, 1, max_rows));
}

// The maximum over ranks of the floats of the exchange's buffers.
int64_t ExchangeFloats(const ShardMap& shards, const std::vector<ParameterUnit>& units, const Ownership& ownership,
                       int64_t floats_per_rank) {
  const std::vector<ExchangeBucket> buckets = BackwardBuckets(units, ownership, floats_per_rank);
  int64_t most = 0;
  for (int rank = 0; rank < shards.ranks(); ++rank) {
    most = std::max(most, ExchangeBufferFloats(shards, buckets, rank));
  }
  return most;
}

// Shares for logical shards that are computed separately.
GradientShares InOrder(const Config& config, const ShardMap& map, const FlatLayout& layout, int64_t threads,
                       const LongestTexts& longest) {
  const int64_t shards = map.shards(), ranks = map.ranks();
  const std::vector<ParameterUnit> units = MakeParameterUnits(layout);
  const Ownership ownership = Ownership::Deal(UnitExtents(units), map.ranks());
  GradientShares shares;
  shares.at_work = std::min(threads, CeilDivide(shards, ranks));
  shares.rows = RowsOfLargestBatch(config, CeilDivide(config.rollout.prompts_per_step, shards),
                                   CeilDivide(config.sft.prompts_per_step, shards), longest);
  shares.buffers = GradientBuffers(shards, ranks, threads, config.execution.micro_batch_tokens != 0);
  shares.owned = ownership.MaxFloats();
  shares.staged = ExchangeFloats(map, units, ownership, config.execution.exchange_floats);
  return shares;
}

// Shares for sums in any order: every thread adds its part of the rank's groups to its own gradient, and every rank
// steps all weights (rl/gradient/step_gradient.h).
GradientShares InAnyOrder(const Config& config, const ShardMap& map, const FlatLayout& layout, int64_t threads,
                          const LongestTexts& longest) {
  const int64_t training = PromptsOfRank(map, config.rollout.prompts_per_step);
  const int64_t sft = PromptsOfRank(map, config.sft.prompts_per_step);
  GradientShares shares;
  shares.at_work = threads;
  shares.rows = RowsOfLargestBatch(config, CeilDivide(training, threads), CeilDivide(sft, threads), longest);
  shares.buffers = threads * (config.execution.micro_batch_tokens != 0 ? 2 : 1);
  shares.owned = Ownership::Deal(UnitExtents(MakeParameterUnits(layout)), 1).MaxFloats();
  return shares;
}

}  // namespace

int64_t GradientBuffers(int64_t logical_shards, int64_t ranks, int64_t threads, bool cut) {
  const ShardMap shards = MakeShardMap(logical_shards, ranks);
  int64_t most = 0;
  for (int rank = 0; rank < shards.ranks(); ++rank) {
    const ShardRange range = shards.ShardsOf(rank);
    const int64_t at_work = std::min<int64_t>(threads, range.end - range.begin);
    most = std::max(most, SequentialBuffers(shards, rank) + at_work - 1 + (cut ? at_work : 0));
  }
  return most;
}

GradientShares EstimateShares(const Config& config, const FlatLayout& layout, int64_t ranks, int64_t threads,
                              const LongestTexts& longest) {
  const ShardMap map = MakeShardMap(config.run.logical_shards, ranks);
  GradientShares shares = config.run.reduction == Reduction::kFast ? InAnyOrder(config, map, layout, threads, longest)
                                                                   : InOrder(config, map, layout, threads, longest);
  shares.prompts = PromptsOfRank(map, config.rollout.prompts_per_step);
  return shares;
}

}  // namespace reprise::rl
