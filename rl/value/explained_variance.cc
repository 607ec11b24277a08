#include "rl/value/explained_variance.h"

#include <vector>

#include "core/status/check.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {

double ExplainedVariance(absl::Span<const double> values, absl::Span<const double> returns) {
  CHECK_EQ(values.size(), returns.size());
  if (AllScorableEqual(returns)) return 0.0;
  std::vector<double> errors;
  for (size_t i = 0; i < values.size(); ++i) errors.push_back(returns[i] - values[i]);
  const double unexplained = DeviationOfScorable(errors) / DeviationOfScorable(returns);
  return 1.0 - unexplained * unexplained;
}

}  // namespace reprise::rl
