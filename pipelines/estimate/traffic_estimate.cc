#include "pipelines/estimate/traffic_estimate.h"

#include <vector>

#include "core/comm/exchange/exchange_plan.h"
#include "core/comm/exchange/ownership.h"
#include "core/comm/exchange/shard_map.h"
#include "core/status/check.h"
#include "rl/config/workload_traits.h"
#include "rl/gradient/gradient_exchange.h"
#include "rl/gradient/parameter_units.h"
#include "rl/gradient/sharded_optimizer.h"

namespace reprise {
namespace {

// A ring Allreduce of the whole gradient, after which every rank steps all weights.
ExchangeTraffic OfAllreduce(int64_t floats, int64_t ranks) {
  ExchangeTraffic traffic;
  traffic.sums = {.messages = static_cast<double>(2 * ranks * (ranks - 1)),
                  .bytes = 8.0 * static_cast<double>(floats * (ranks - 1))};
  return traffic;
}

}  // namespace

ExchangeTraffic EstimateExchange(const rl::Config& config, const FlatLayout& layout, int64_t ranks) {
  ExchangeTraffic traffic;
  if (ranks == 1) return traffic;
  if (config.run.reduction == rl::Reduction::kFast) return OfAllreduce(layout.total, ranks);
  const absl::StatusOr<ShardMap> shards =
      ShardMap::Create(static_cast<int>(config.run.logical_shards), static_cast<int>(ranks));
  CHECK(shards.ok());
  const std::vector<rl::ParameterUnit> units = rl::MakeParameterUnits(layout);
  const Ownership ownership = Ownership::Deal(rl::UnitExtents(units), static_cast<int>(ranks));
  for (const ExchangeBucket& bucket : rl::BackwardBuckets(units, ownership, config.execution.exchange_floats)) {
    ++traffic.buckets;
    double owners = 0;
    for (int64_t floats : bucket.floats) owners += floats > 0 ? 1 : 0;
    // Sums: one message from every rank to every other owner, with all of its subtrees; weights: from owners to all.
    traffic.sums.messages += owners * static_cast<double>(ranks - 1);
    traffic.weights.messages += owners * static_cast<double>(ranks - 1);
    for (int rank = 0; rank < ranks; ++rank) {
      const double others = static_cast<double>(bucket.total - bucket.floats[rank]);
      traffic.sums.bytes += 4 * others * static_cast<double>(shards->SubtreesOf(rank).size());
      traffic.weights.bytes += 4 * others;
    }
  }
  // Every group, exchanged as the weights are.
  const double groups = static_cast<double>(rl::MakeOptimizer(config.optimizer)->groups().size());
  traffic.state = {.messages = groups * traffic.weights.messages, .bytes = groups * traffic.weights.bytes};
  return traffic;
}

int64_t UpdatesOfStep(const rl::Config& config, const rl::Choices& choices) {
  return choices.algorithm.update.num_iterations * rl::MinibatchesOfIteration(config);
}

// AgreeOk and AllreduceSum are one call, AllgatherBytes is two; GatherBytes is one to all and one to the root.
CollectiveCalls CollectivesOfStep(const rl::Config& config, const rl::Choices& choices) {
  const bool is_fast = config.run.reduction == rl::Reduction::kFast;
  const rl::AlgorithmConfig& algorithm = choices.algorithm;
  const bool has_values = rl::NeedsValues(algorithm),
             plays_for_baselines = rl::NeedsPromptBaselines(algorithm.advantage),
             deals_decisions = algorithm.update.unit == rl::MinibatchUnit::kDecision;
  CollectiveCalls calls;
  calls.to_all += 2;                                                        // tasks, completions
  calls.to_all += 1 + 2 + 1;                                                // scores, advantages, counts
  calls.to_all += has_values;                                               // old values
  calls.to_all += plays_for_baselines ? 1 + 2 : 0;                          // the completions of baselines, and these
  calls.to_all += rl::NeedsDivergence(algorithm);                           // the reference's scores
  calls.to_all += algorithm.kl.schedule == rl::KlSchedule::kFixed ? 0 : 2;  // the divergence that a schedule follows
  calls.to_all += algorithm.entropy.adaptive ? 2 : 0;                       // the entropy that the bonus follows
  int64_t update = 1 + 2 + 1;  // passes, experts' probabilities, new weights
  update += is_fast ? 0 : 2;   // the norm
  update += rl::MinibatchesOfIteration(config) > 1 || deals_decisions ? 1 : 0;  // its rows
  update += algorithm.loss.top_entropy_quantile < 1 ? 2 : 0;                    // entropies
  update += algorithm.update.target_kl > 0 ? 2 : 0;                             // the divergence so far
  calls.to_all += update * UpdatesOfStep(config, choices);
  calls.to_all += deals_decisions && algorithm.loss.top_entropy_quantile == 1;  // whether the first has an advantage
  calls.to_all += 1 + 1 + 2;  // the record, its commit, what follows it
  calls.to_root += 1;
  if (!is_fast && config.artifact.digest_every > 0) {  // digests
    ++calls.to_all;
    ++calls.to_root;
  }
  return calls;
}

}  // namespace reprise
