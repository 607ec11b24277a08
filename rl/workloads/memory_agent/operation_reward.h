#ifndef RL_WORKLOADS_MEMORY_AGENT_OPERATION_REWARD_H_
#define RL_WORKLOADS_MEMORY_AGENT_OPERATION_REWARD_H_

// The reward of one operation of a memory agent. With the options' names:
//   task        success, or failure if the operation failed
//   efficiency  exp(1 - latency / optimal_latency_ms), 0 from max_latency_ms on
//   quality     add, update, delete: 1 if it succeeded, else 0
//               retrieve: min(1, n / optimal_retrieved), n the relevant episodes found
//               summary: 1 - |output / input - summary_ratio|
//               filter: min(1, removed / filter_ratio), removed = 1 - output / input
//   composite   task_weight task + efficiency_weight efficiency + quality_weight quality, added in this order
// A summary or a filter without input or output has the quality 0.5. Efficiency and quality are clamped to [0, 1];
// RewardMode::kOriginal leaves efficiency at up to e below the optimal latency, and a summary's quality below 0 where
// it is longer than 1 + summary_ratio times its input.

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "data/memory/operation.h"
#include "rl/workloads/memory_agent/section/memory_section.h"

namespace reprise::rl {

struct OperationRewardOptions {
  RewardMode mode = RewardMode::kClamped;
  double task_weight = 0.5, efficiency_weight = 0.3, quality_weight = 0.2;
  double success = 1.0, failure = -0.5;
  double max_latency_ms = 1000, optimal_latency_ms = 100;
  double optimal_retrieved = 5;
  double summary_ratio = 0.3, filter_ratio = 0.5;

  bool operator==(const OperationRewardOptions&) const = default;
};

// What is measured of an operation.
struct OperationResult {
  data::MemoryOperation operation = data::MemoryOperation::kAdd;
  bool succeeded = false;
  double latency_ms = 0;
  int64_t retrieved = 0;                           // of retrieve
  std::optional<int64_t> relevant = std::nullopt;  // of them; nullopt: all
  // Characters of a summary's input and output, or items of a filter's; 0 where there are none.
  int64_t input_length = 0, output_length = 0;

  bool operator==(const OperationResult&) const = default;
};

struct OperationReward {
  double task = 0, efficiency = 0, quality = 0, composite = 0;

  bool operator==(const OperationReward&) const = default;
};

// Pure.
OperationReward ComputeReward(const OperationResult& result, const OperationRewardOptions& options);

// Returns sum over t of discount^t reward_t, of which the terms are added in a fixed tree. Pure.
double DiscountedReward(absl::Span<const double> reward_T, double discount = 0.99);

// Returns what each of the `steps` operations of an episode (at least 1) receives at its end for `found` episodes that
// a last query finds, of `wanted` (at least 1): weight min(1, found / wanted) / steps. Pure.
double RecallBonus(int64_t found, int64_t wanted, double weight, int64_t steps);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_OPERATION_REWARD_H_
