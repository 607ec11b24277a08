#include "rl/advantage/token_rewards.h"

#include "core/status/check.h"
#include "rl/loss/terms.h"

namespace reprise::rl {
namespace {

bool Counts(absl::Span<const uint8_t> mask_T, size_t t) { return mask_T.empty() || mask_T[t] != 0; }

}  // namespace

std::vector<double> TokenDivergences(absl::Span<const double> old_logprob_T, absl::Span<const double> ref_logprob_T,
                                     absl::Span<const uint8_t> mask_T, KlEstimator estimator) {
  CHECK_EQ(old_logprob_T.size(), ref_logprob_T.size());
  if (!mask_T.empty()) CHECK_EQ(mask_T.size(), old_logprob_T.size());
  std::vector<double> kl_T(old_logprob_T.size(), 0.0);
  for (size_t t = 0; t < kl_T.size(); ++t) {
    if (!Counts(mask_T, t)) continue;
    kl_T[t] = DivergenceTerm(old_logprob_T[t], ref_logprob_T[t], {}, /*use_bias_correction=*/false, estimator).value;
  }
  return kl_T;
}

std::vector<double> TokenRewards(int64_t T, double score, absl::Span<const double> kl_T,
                                 absl::Span<const uint8_t> mask_T, double beta, absl::Span<const double> earned_T) {
  const size_t size = static_cast<size_t>(T);
  if (beta != 0.0) CHECK_EQ(kl_T.size(), size);
  if (!mask_T.empty()) CHECK_EQ(mask_T.size(), size);
  if (!earned_T.empty()) CHECK_EQ(earned_T.size(), size);
  std::vector<double> reward_T(size, 0.0);
  bool last = true;
  for (size_t t = size; t-- > 0;) {
    if (!Counts(mask_T, t)) continue;
    if (beta != 0.0) reward_T[t] = -beta * kl_T[t];
    if (!earned_T.empty()) reward_T[t] += earned_T[t];
    if (last) reward_T[t] += score;
    last = false;
  }
  return reward_T;
}

std::vector<double> DiscountedReturns(absl::Span<const double> reward_T, absl::Span<const uint8_t> mask_T,
                                      double gamma) {
  if (!mask_T.empty()) CHECK_EQ(mask_T.size(), reward_T.size());
  std::vector<double> return_T(reward_T.size(), 0.0);
  double following = 0.0;
  for (size_t t = reward_T.size(); t-- > 0;) {
    if (Counts(mask_T, t)) return_T[t] = following = reward_T[t] + gamma * following;
  }
  return return_T;
}

}  // namespace reprise::rl
