#ifndef PIPELINES_ESTIMATE_TRAFFIC_ESTIMATE_H_
#define PIPELINES_ESTIMATE_TRAFFIC_ESTIMATE_H_

// Estimates the messages between ranks from only the configuration, with the formulas of docs/performance.md, in
// messages and bytes as communicators count them (core/comm/communicator.h), over all ranks.

#include <cstdint>

#include "core/tensor/flat_layout.h"
#include "rl/config/config.h"
#include "rl/learner/choices.h"

namespace reprise {

struct SentByAll {
  double messages = 0, bytes = 0;
};

// The exchange whose size grows with the model.
struct ExchangeTraffic {
  int64_t buckets = 0;  // of a gradient, sent by each rank; 0 with MPI_Allreduce
  SentByAll sums;       // of gradients, per update
  SentByAll weights;    // per update
  SentByAll state;      // of the optimizer, for each written checkpoint or state
  SentByAll update() const { return {sums.messages + weights.messages, sums.bytes + weights.bytes}; }
};

// layout: of the policy's parameters; config passes CheckConfig for `ranks`.
ExchangeTraffic EstimateExchange(const rl::Config& config, const FlatLayout& layout, int64_t ranks);

// Calls of small collectives in a training step, by every rank: agreement, counts, norm, rewards, the record.
struct CollectiveCalls {
  int64_t to_all = 0;   // every rank's block goes to all
  int64_t to_root = 0;  // every rank's block goes to rank 0
  int64_t total() const { return to_all + to_root; }
  // Over all ranks, if no block is empty.
  double messages(int64_t ranks) const { return static_cast<double>((ranks - 1) * (ranks * to_all + to_root)); }
};

// Returns the maximum number of optimizer steps of a training step; `algorithm.target_kl` may end it earlier, and it
// may have fewer decisions than minibatches of them need.
int64_t UpdatesOfStep(const rl::Config& config, const rl::Choices& choices);

// Counts for a step that writes no checkpoint and has no evaluation, with digests if any step other than the last has
// them. choices: those of `config`.
CollectiveCalls CollectivesOfStep(const rl::Config& config, const rl::Choices& choices);

// One additional call where a checkpoint or a state is written.
inline constexpr int64_t kCollectivesOfState = 1;  // to all

}  // namespace reprise

#endif  // PIPELINES_ESTIMATE_TRAFFIC_ESTIMATE_H_
