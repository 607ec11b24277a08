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
  double earned_after = 0.0;  // at masked tokens after t, up to the next one that counts
  for (size_t t = size; t-- > 0;) {
    if (!Counts(mask_T, t)) {
      if (!earned_T.empty()) earned_after += earned_T[t];
      continue;
    }
    if (beta != 0.0) reward_T[t] = -beta * kl_T[t];
    if (!earned_T.empty()) reward_T[t] += earned_T[t] + earned_after;
    if (last) reward_T[t] += score;
    last = false;
    earned_after = 0.0;
  }
  return reward_T;
}

std::vector<uint8_t> MaskWithAllTurns(absl::Span<const uint8_t> mask_T, absl::Span<const int32_t> turn_T) {
  std::vector<uint8_t> with_all_T(mask_T.begin(), mask_T.end());
  if (mask_T.empty()) return with_all_T;
  CHECK_EQ(turn_T.size(), mask_T.size());
  for (size_t begin = 0, end = 0; begin < turn_T.size(); begin = end) {
    bool any = false;
    for (end = begin; end < turn_T.size() && turn_T[end] == turn_T[begin]; ++end) any |= mask_T[end] != 0;
    if (!any) with_all_T[end - 1] = 1;
  }
  return with_all_T;
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
