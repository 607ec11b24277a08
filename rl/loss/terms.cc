#include "rl/loss/terms.h"

#include <algorithm>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

double Capped(const Ratio& ratio, const LossOptions& options) {
  return options.delta ? std::min(ratio.value, *options.delta) : ratio.value;
}

// The estimate and its derivative with respect to logp, where d was not clamped.
Term Estimate(const Ratio& ref, KlEstimator estimator) {
  switch (estimator) {
    case KlEstimator::kK1:
      return {.value = 0.0 - ref.log, .d_logprob = 1.0};
    case KlEstimator::kK2:
      return {.value = 0.5 * ref.log * ref.log, .d_logprob = 0.0 - ref.log};
    case KlEstimator::kK3:
      return {.value = ref.value - ref.log - 1.0, .d_logprob = 1.0 - ref.value};
    case KlEstimator::kExact:
      break;
  }
  CHECK(estimator != KlEstimator::kExact);
  return {};
}

}  // namespace

Term ClippedSurrogate(const Ratio& ratio, double advantage, const LossOptions& options) {
  const double r = ratio.value;
  const double low = 1.0 - options.epsilon, high = 1.0 + options.epsilon_high;
  const double capped = Capped(ratio, options);
  const double clipped = std::clamp(r, low, high);
  // d branch / d log r: at the bounds themselves the gradient is not 0.
  const double capped_slope = options.delta && r > *options.delta ? 0.0 : ratio.slope;
  const double clipped_slope = r < low || r > high ? 0.0 : ratio.slope;

  const double a = capped * advantage, b = clipped * advantage;
  const double slope = a < b ? capped_slope : b < a ? clipped_slope : 0.5 * (capped_slope + clipped_slope);
  const Term term = {.value = -std::min(a, b), .d_log_ratio = -slope * advantage};
  return IsDualClipped(ratio, advantage, options) ? Term{.value = -*options.dual_clip * advantage} : term;
}

bool IsLowClipped(const Ratio& ratio, double advantage, const LossOptions& options) {
  return Capped(ratio, options) < 1.0 - options.epsilon && advantage < 0.0;
}

bool IsHighClipped(const Ratio& ratio, double advantage, const LossOptions& options) {
  return Capped(ratio, options) > 1.0 + options.epsilon_high && advantage > 0.0;
}

bool IsDualClipped(const Ratio& ratio, double advantage, const LossOptions& options) {
  // With A < 0 the surrogate is -A times the greater of both branches, and dual_clip > 1 > 1 - epsilon.
  return options.dual_clip && advantage < 0.0 &&
         std::max(Capped(ratio, options), std::clamp(ratio.value, 1.0 - options.epsilon, 1.0 + options.epsilon_high)) >
             *options.dual_clip;
}

Term UnclippedSurrogate(const Ratio& ratio, double advantage) {
  return {.value = -ratio.value * advantage, .d_log_ratio = -ratio.slope * advantage};
}

Term ReinforceTerm(double logprob, double advantage) {
  return {.value = -advantage * logprob, .d_logprob = -advantage};
}

Term CispoTerm(const Ratio& ratio, double logprob, double advantage, const LossOptions& options) {
  const double weight = -std::min(ratio.value, options.epsilon_high) * advantage;
  return {.value = weight * logprob, .d_logprob = weight};
}

bool IsCispoCapped(const Ratio& ratio, double advantage, const LossOptions& options) {
  return ratio.value > options.epsilon_high && advantage > 0.0;
}

Term SapoTerm(const Ratio& ratio, double advantage, const LossOptions& options) {
  const double tau = advantage > 0.0 ? options.sapo_temperature_pos : options.sapo_temperature_neg;
  // exp(-tau (r - 1)) is at most exp(tau), and 0 for large r: the gate is 1 there.
  const double decay = kernels::Exp(-tau * (ratio.value - 1.0));
  const double gate = 1.0 / (1.0 + decay);
  const double gate_slope = decay * gate * gate;  // d gate / d (tau (r - 1))
  return {.value = -advantage * 4.0 / tau * gate, .d_log_ratio = -advantage * 4.0 * gate_slope * ratio.slope};
}

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

Term DivergenceTerm(double logprob, double ref_logprob, const Ratio& ratio, bool use_bias_correction,
                    KlEstimator estimator) {
  const Ratio ref = ComputeRatio(ref_logprob - logprob);
  Term term = Estimate(ref, estimator);
  if (ref.clamped) term.d_logprob = 0.0;
  if (!use_bias_correction) return term;
  return {.value = term.value * ratio.value,
          .d_log_ratio = term.value * ratio.slope,
          .d_logprob = term.d_logprob * ratio.value};
}

}  // namespace reprise::rl
