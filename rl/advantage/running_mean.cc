#include "rl/advantage/running_mean.h"

#include "core/status/check.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {

RunningMean Next(const RunningMean& mean, absl::Span<const double> rewards_N, double decay) {
  CHECK(decay >= 0.0 && decay < 1.0);
  if (CountScorable(rewards_N) == 0) return mean;
  return {.sum = decay * mean.sum + (1.0 - decay) * MeanOfScorable(rewards_N),
          .weight = decay * mean.weight + (1.0 - decay)};
}

}  // namespace reprise::rl
