#include "rl/loss/vespo.h"

#include <algorithm>

#include "kernels/math/scalar_math.h"
#include "kernels/sums/sums.h"
#include "rl/loss/ratio.h"

namespace reprise::rl {

double VespoWeight(const std::vector<double>& log_ratio_T, double advantage, const VespoOptions& options) {
  std::vector<double> clamped_T;
  for (double log_ratio : log_ratio_T) clamped_T.push_back(std::clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio));
  const double log_weight = std::clamp(kernels::TreeSum(clamped_T), kernels::Log(1e-8), kMaxLogRatio);
  const double k = advantage >= 0.0 ? options.k_pos : options.k_neg;
  const double lambda = std::max(advantage >= 0.0 ? options.lambda_pos : options.lambda_neg, 1e-4);
  return kernels::Exp(lambda + k * log_weight - lambda * kernels::Exp(log_weight));
}

Term VespoTerm(double weight, double logprob, double advantage) {
  return {.value = -weight * advantage * logprob, .d_logprob = -weight * advantage};
}

}  // namespace reprise::rl
