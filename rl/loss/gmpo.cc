#include "rl/loss/gmpo.h"

#include <algorithm>

#include "core/status/check.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {

GeometricRatio ComputeGeometricRatio(absl::Span<const double> log_ratio_T, absl::Span<const uint8_t> in_mean_T,
                                     double advantage, const LossOptions& options) {
  CHECK_EQ(log_ratio_T.size(), in_mean_T.size());
  const double count =
      static_cast<double>(std::count_if(in_mean_T.begin(), in_mean_T.end(), [](uint8_t in) { return in != 0; }));
  GeometricRatio result;
  result.slope_T.assign(log_ratio_T.size(), 0.0);
  if (count == 0.0) {
    result.ratio = ComputeRatio(0.0);
    return result;
  }
  std::vector<double> clipped_T(log_ratio_T.size(), 0.0);
  for (size_t t = 0; t < log_ratio_T.size(); ++t) {
    if (in_mean_T[t] == 0) continue;
    const double bound = advantage > 0.0 ? options.epsilon_high : -options.epsilon;
    const bool held = advantage > 0.0 ? log_ratio_T[t] > bound : log_ratio_T[t] < bound;
    clipped_T[t] = held ? bound : log_ratio_T[t];
    result.slope_T[t] = held ? 0.0 : 1.0 / count;
  }
  result.ratio = ComputeRatio(kernels::TreeSum(clipped_T) / count);
  return result;
}

bool IsLowClippedLog(double log_ratio, double advantage, const LossOptions& options) {
  return log_ratio < -options.epsilon && advantage < 0.0;
}

bool IsHighClippedLog(double log_ratio, double advantage, const LossOptions& options) {
  return log_ratio > options.epsilon_high && advantage > 0.0;
}

}  // namespace reprise::rl
