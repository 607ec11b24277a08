#include "rl/gradient/sharded_optimizer.h"

#include "core/status/check.h"
#include "rl/gradient/sharded_adamw.h"
#include "rl/gradient/sharded_muon.h"

namespace reprise::rl {

std::vector<RateFactor> ReadRateFactors(const OptimizerConfig& config) {
  absl::StatusOr<std::vector<RateFactor>> factors = ParseRateFactors(config.learning_rate_factors);
  CHECK(factors.ok());
  return *std::move(factors);
}

double FallbackRate(const OptimizerConfig& config, double learning_rate) {
  const double share = config.learning_rate > 0 ? learning_rate / config.learning_rate : 0;
  return config.fallback_learning_rate * share;
}

std::unique_ptr<ShardedOptimizer> MakeOptimizer(const OptimizerConfig& config) {
  if (config.name == OptimizerName::kMuonGrokfast) return std::make_unique<ShardedMuonGrokfast>(config);
  return std::make_unique<ShardedAdamW>(config);
}

}  // namespace reprise::rl
