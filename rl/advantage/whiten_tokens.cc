#include "rl/advantage/whiten_tokens.h"

#include <cmath>

#include "rl/advantage/statistics.h"

namespace reprise::rl {

std::vector<double> WhitenTokens(absl::Span<const double> values) {
  std::vector<double> white(values.size(), 0.0);
  if (AllScorableEqual(values)) return white;
  const double mean = MeanOfScorable(values), deviation = DeviationOfScorable(values);
  const double divisor = std::sqrt(deviation * deviation + kWhitenVarianceEpsilon);
  for (size_t i = 0; i < values.size(); ++i) white[i] = (values[i] - mean) / divisor;
  return white;
}

std::vector<double> ScaleTokens(absl::Span<const double> values) {
  if (AllScorableEqual(values)) return {values.begin(), values.end()};
  const double mean = MeanOfScorable(values);
  std::vector<double> scaled = WhitenTokens(values);
  for (double& value : scaled) value += mean;
  return scaled;
}

}  // namespace reprise::rl
