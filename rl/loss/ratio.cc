#include "rl/loss/ratio.h"

#include <algorithm>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {

Ratio ComputeRatio(double log_ratio) {
  Ratio ratio;
  ratio.log = std::clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio);
  ratio.clamped = ratio.log != log_ratio;
  ratio.value = kernels::Exp(ratio.log);
  ratio.slope = ratio.clamped ? 0.0 : ratio.value;
  return ratio;
}

std::vector<double> LogRatios(const Sequence& sequence) {
  std::vector<double> log_ratio_T(sequence.logprob_T.size(), 0.0);
  if (sequence.old_logprob_T.empty()) return log_ratio_T;
  CHECK_EQ(sequence.old_logprob_T.size(), sequence.logprob_T.size());
  for (size_t t = 0; t < log_ratio_T.size(); ++t) {
    if (sequence.Counts(static_cast<int64_t>(t))) {
      log_ratio_T[t] = sequence.logprob_T[t] - sequence.old_logprob_T[t];
    }
  }
  return log_ratio_T;
}

double SequenceLogRatio(ImportanceLevel level, const std::vector<double>& log_ratio_T, int64_t num_tokens) {
  CHECK(level != ImportanceLevel::kToken);
  if (num_tokens == 0) return 0.0;
  const double sum = kernels::TreeSum(log_ratio_T);
  return level == ImportanceLevel::kSequence ? sum / static_cast<double>(num_tokens) : sum;
}

bool IsOffPolicy(const std::vector<double>& log_ratio_T, int64_t num_tokens, double advantage,
                 const std::optional<double>& threshold) {
  if (!threshold || advantage >= 0.0) return false;
  const double tokens = static_cast<double>(std::max<int64_t>(num_tokens, 1));
  return -kernels::TreeSum(log_ratio_T) / tokens > *threshold;
}

}  // namespace reprise::rl
