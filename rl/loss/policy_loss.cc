#include "rl/loss/policy_loss.h"

#include <algorithm>
#include <cmath>

#include "core/status/check.h"
#include "kernels/sums/sums.h"
#include "rl/loss/gmpo.h"
#include "rl/loss/ratio.h"
#include "rl/loss/terms.h"

namespace reprise::rl {
namespace {

// Values that all tokens of a sequence share.
struct Context {
  const Sequence& sequence;
  const LossOptions& options;
  int64_t num_tokens;
  std::vector<double> log_ratio_T;
  bool per_token;        // whether each token has its own ratio
  Ratio sequence_ratio;  // where !per_token
  bool off_policy;       // whether tokens with A < 0 are masked (IsOffPolicy)
  double entropy_threshold;
  double vespo_weight_pos, vespo_weight_neg;  // for advantages >= 0 and < 0
  // For a term of the whole sequence: GMPO's ratio; the derivative of d_sequence's variable by each token's log-prob;
  // and the regression's sum of differences to the reference.
  GeometricRatio shared;
  double reference_log_ratio;
};

bool IsForking(const Sequence& sequence, const LossOptions& options, double entropy_threshold, int64_t t) {
  return options.top_entropy_quantile >= 1.0 || sequence.entropy_T[t] >= entropy_threshold;
}

void MakeShared(Context* c) {
  const Sequence& sequence = c->sequence;
  const size_t T = c->log_ratio_T.size();
  if (EffectiveClip(c->options) == Clip::kGmpo) {
    std::vector<uint8_t> in_mean_T(T, 0);
    for (int64_t t = 0; t < sequence.size(); ++t) {
      in_mean_T[t] = sequence.Counts(t) && IsForking(sequence, c->options, c->entropy_threshold, t) ? 1 : 0;
    }
    c->shared = ComputeGeometricRatio(c->log_ratio_T, in_mean_T, sequence.advantage, c->options);
  }
  if (EffectiveClip(c->options) != Clip::kRegression) return;
  std::vector<double> difference_T(T, 0.0);
  c->shared.slope_T.assign(T, 1.0);
  for (int64_t t = 0; t < sequence.size(); ++t) {
    if (sequence.Counts(t)) difference_T[t] = sequence.logprob_T[t] - sequence.ref_logprob_T[t];
  }
  c->reference_log_ratio = kernels::TreeSum(difference_T);
}

Context MakeContext(const Sequence& sequence, const LossOptions& options, double entropy_threshold) {
  Context c = {.sequence = sequence,
               .options = options,
               .num_tokens = sequence.num_tokens(),
               .log_ratio_T = LogRatios(sequence),
               .per_token = options.importance_sampling_level == ImportanceLevel::kToken,
               .sequence_ratio = {},
               .off_policy = false,
               .entropy_threshold = entropy_threshold,
               .vespo_weight_pos = 0.0,
               .vespo_weight_neg = 0.0,
               .shared = {},
               .reference_log_ratio = 0.0};
  if (!c.per_token) {
    c.sequence_ratio = ComputeRatio(SequenceLogRatio(options.importance_sampling_level, c.log_ratio_T, c.num_tokens));
  }
  c.off_policy = IsOffPolicy(c.log_ratio_T, c.num_tokens, /*advantage=*/-1.0, options.off_policy_mask_threshold);
  if (EffectiveClip(options) == Clip::kVespo) {
    c.vespo_weight_pos = VespoWeight(c.log_ratio_T, /*advantage=*/1.0, options.vespo);
    c.vespo_weight_neg = VespoWeight(c.log_ratio_T, /*advantage=*/-1.0, options.vespo);
  }
  MakeShared(&c);
  return c;
}

double ComputeVespoWeight(const Context& c, double advantage) {
  return advantage >= 0.0 ? c.vespo_weight_pos : c.vespo_weight_neg;
}

Term PolicyTerm(const Context& c, const Ratio& ratio, double logprob, double advantage) {
  switch (EffectiveClip(c.options)) {
    case Clip::kTwoSided:
      return ClippedSurrogate(ratio, advantage, c.options);
    case Clip::kCispo:
      return CispoTerm(ratio, logprob, advantage, c.options);
    case Clip::kSapo:
      return SapoTerm(ratio, advantage, c.options);
    case Clip::kVespo:
      return VespoTerm(ComputeVespoWeight(c, advantage), logprob, advantage);
    case Clip::kNone:
      return UnclippedSurrogate(ratio, advantage);
    case Clip::kGmpo:
      return {.value = -c.shared.ratio.value * advantage, .d_sequence = -c.shared.ratio.slope * advantage};
    case Clip::kRegression:
      return RegressionTerm(c.reference_log_ratio, advantage, c.options.regression_beta);
    case Clip::kReinforce:
      break;
  }
  return ReinforceTerm(logprob, advantage);
}

// The policy term of token t with its importance correction; 0 where a mask drops it.
Term KeptPolicyTerm(const Context& c, int64_t t, const Ratio& ratio) {
  const double advantage = c.sequence.Advantage(t);
  // Tokens that are not in GMPO's mean share its term nevertheless.
  const bool forking =
      EffectiveClip(c.options) == Clip::kGmpo || IsForking(c.sequence, c.options, c.entropy_threshold, t);
  if (!forking || (c.off_policy && advantage < 0.0)) return {};
  const Term term = PolicyTerm(c, ratio, c.sequence.logprob_T[t], advantage);
  if (c.sequence.importance_weight_T.empty()) return term;
  const double correction = c.sequence.importance_weight_T[t];
  return {correction * term.value, correction * term.d_log_ratio, correction * term.d_logprob,
          correction * term.d_sequence};
}

// Returns the divergence at token t and adds it to the metrics. The exact one is a function of the whole distribution:
// its derivatives go to dloss_dexact_kl_T.
Term TokenDivergence(const Context& c, int64_t t, const Ratio& ratio, SequenceLossMetrics* metrics) {
  Term divergence;
  if (c.options.kl_estimator == KlEstimator::kExact) {
    divergence.value = c.sequence.exact_kl_T[t];
  } else {
    const double logprob = c.sequence.logprob_T[t], ref = c.sequence.ref_logprob_T[t];
    divergence = DivergenceTerm(logprob, ref, ratio, c.options.use_bias_correction_kl, c.options.kl_estimator);
    metrics->clamped += std::fabs(ref - logprob) > kMaxLogRatio ? 1 : 0;
  }
  metrics->kl_sum += divergence.value;
  return divergence;
}

// Returns the token's whole term, sets policy_value to the policy's part, and adds to the metrics that are sums over
// tokens.
Term TokenTerm(const Context& c, int64_t t, const Ratio& ratio, double* policy_value, SequenceLossMetrics* metrics) {
  Term term = KeptPolicyTerm(c, t, ratio);
  *policy_value = term.value;
  if (c.options.beta == 0.0) return term;
  const Term divergence = TokenDivergence(c, t, ratio, metrics);
  term.value += c.options.beta * divergence.value;
  term.d_log_ratio += c.options.beta * divergence.d_log_ratio;
  term.d_logprob += c.options.beta * divergence.d_logprob;
  return term;
}

void CountRatio(const Context& c, const Ratio& ratio, double advantage, SequenceLossMetrics* metrics) {
  ++metrics->num_ratios;
  if (EffectiveClip(c.options) == Clip::kCispo) {
    metrics->high_clipped += IsCispoCapped(ratio, advantage, c.options) ? 1 : 0;
    return;
  }
  if (EffectiveClip(c.options) == Clip::kGmpo) {
    metrics->low_clipped += IsLowClippedLog(ratio.log, advantage, c.options) ? 1 : 0;
    metrics->high_clipped += IsHighClippedLog(ratio.log, advantage, c.options) ? 1 : 0;
    return;
  }
  metrics->dual_clipped += IsDualClipped(ratio, advantage, c.options) ? 1 : 0;
  metrics->low_clipped += IsLowClipped(ratio, advantage, c.options) ? 1 : 0;
  metrics->high_clipped += IsHighClipped(ratio, advantage, c.options) ? 1 : 0;
}

// Adds to the metrics that are counted once where all tokens share ratio and advantage, otherwise once per token: TRL's
// means are over the broadcast shape of both. t: any unmasked token.
void CountToken(const Context& c, int64_t t, const Ratio& ratio, SequenceLossMetrics* metrics) {
  const bool is_first = metrics->num_ratios == 0, shares_advantage = c.sequence.advantage_T.empty();
  if (c.per_token || is_first) metrics->clamped += ratio.clamped ? 1 : 0;
  if (c.per_token || is_first || !shares_advantage) CountRatio(c, ratio, c.sequence.Advantage(t), metrics);
  if (EffectiveClip(c.options) != Clip::kVespo || !(is_first || !shares_advantage)) return;
  metrics->vespo_weight_sum += ComputeVespoWeight(c, c.sequence.Advantage(t));
  ++metrics->num_vespo_weights;
}

// One ratio for all tokens: sums its gradient over them, then distributes it to the log-probs in the ratio.
void DistributeSequenceGradient(const Context& c, const std::vector<double>& d_log_ratio_T,
                                std::vector<double>* gradient_T) {
  const bool mean = c.options.importance_sampling_level == ImportanceLevel::kSequence;
  const double total = kernels::TreeSum(d_log_ratio_T);
  const double share = mean ? total / static_cast<double>(std::max<int64_t>(c.num_tokens, 1)) : total;
  for (int64_t t = 0; t < c.sequence.size(); ++t) {
    if (c.sequence.Counts(t)) (*gradient_T)[t] += share;
  }
}

// The same for a term of the whole sequence, with each log-prob's derivative.
void DistributeSharedGradient(const Context& c, const std::vector<double>& d_sequence_T,
                              std::vector<double>* gradient_T) {
  const double total = kernels::TreeSum(d_sequence_T);
  for (int64_t t = 0; t < c.sequence.size(); ++t) {
    if (c.sequence.Counts(t)) (*gradient_T)[t] += total * c.shared.slope_T[t];
  }
}

// Returns the weight of every token's term.
std::vector<double> ComputeTokenWeights(const Context& c, const LossNormalizer& normalizer) {
  const double weight = c.sequence.weight * TokenWeight(c.options, normalizer, c.num_tokens);
  std::vector<double> weight_T(c.sequence.logprob_T.size(), weight);
  if (EffectiveAggregation(c.options) != Aggregation::kTurnMean || c.sequence.turn_T.empty()) return weight_T;
  const std::vector<double> factor_T = TurnFactors(c.sequence.turn_T, c.sequence.mask_T);
  for (size_t t = 0; t < weight_T.size(); ++t) weight_T[t] *= factor_T[t];
  return weight_T;
}

void AddExactDivergence(const Context& c, const std::vector<double>& weight_T, SequenceLoss* result) {
  if (c.options.beta == 0.0 || c.options.kl_estimator != KlEstimator::kExact) return;
  result->dloss_dexact_kl_T.assign(weight_T.size(), 0.0);
  for (int64_t t = 0; t < c.sequence.size(); ++t) {
    if (c.sequence.Counts(t)) result->dloss_dexact_kl_T[t] = weight_T[t] * c.options.beta;
  }
}

// Adds the metrics of the ratio between the current and the sampling policy; where they are equal, log-ratios are
// exactly 0.
void SummarizeRatios(const Context& c, SequenceLossMetrics* metrics) {
  std::vector<double> kl_T, ratio_T, square_T, distance_T;
  for (int64_t t = 0; t < c.sequence.size(); ++t) {
    const Ratio ratio = ComputeRatio(c.log_ratio_T[t]);
    kl_T.push_back(ratio.value - 1.0 - ratio.log);
    ratio_T.push_back(c.sequence.Counts(t) ? ratio.value : 0.0);
    square_T.push_back(ratio.log * ratio.log);
    distance_T.push_back(c.sequence.Counts(t) ? (ratio.value - 1.0) * (ratio.value - 1.0) : 0.0);
    if (!c.sequence.Counts(t)) continue;
    metrics->least_ratio = std::min(metrics->least_ratio, ratio.value);
    metrics->greatest_ratio = std::max(metrics->greatest_ratio, ratio.value);
  }
  metrics->squared_ratio_distance_sum = kernels::TreeSum(distance_T);
  metrics->approx_kl_sum = kernels::TreeSum(kl_T);
  metrics->ratio_sum = kernels::TreeSum(ratio_T);
  metrics->squared_log_ratio_sum = kernels::TreeSum(square_T);
}

void AddEntropyBonus(const Context& c, const LossNormalizer& normalizer, SequenceLoss* result) {
  if (c.options.entropy_coef == 0.0) return;
  const double share = c.sequence.weight / std::max(normalizer.num_tokens, 1.0);
  const double weight = c.sequence.weight * c.options.entropy_coef / std::max(normalizer.num_tokens, 1.0);
  const bool has_floors = c.options.entropy_floor != 0.0 && !c.sequence.entropy_floor_scale_T.empty();
  result->dloss_dentropy_T.assign(c.sequence.logprob_T.size(), 0.0);
  std::vector<double> bonus_T;
  for (int64_t t = 0; t < c.sequence.size(); ++t) {
    if (!c.sequence.Counts(t)) continue;
    result->dloss_dentropy_T[t] = -weight;
    if (!has_floors) continue;
    const double floor = c.options.entropy_floor * c.sequence.entropy_floor_scale_T[t];
    result->dloss_dentropy_T[t] = -share * std::max(c.options.entropy_coef, floor);
    bonus_T.push_back(result->dloss_dentropy_T[t] * c.sequence.entropy_T[t]);
  }
  result->loss += has_floors ? kernels::TreeSum(bonus_T) : -weight * result->metrics.entropy_sum;
}

void CheckSizes(const Sequence& sequence, const LossOptions& options) {
  const size_t T = sequence.logprob_T.size();
  if (!sequence.mask_T.empty()) CHECK_EQ(sequence.mask_T.size(), T);
  if (options.beta != 0.0 && options.kl_estimator != KlEstimator::kExact) CHECK_EQ(sequence.ref_logprob_T.size(), T);
  if (options.beta != 0.0 && options.kl_estimator == KlEstimator::kExact) CHECK_EQ(sequence.exact_kl_T.size(), T);
  if (RegressesToReference(options)) CHECK_EQ(sequence.ref_logprob_T.size(), T);
  if (EffectiveClip(options) == Clip::kGmpo || RegressesToReference(options)) CHECK(sequence.advantage_T.empty());
  if (!sequence.advantage_T.empty()) CHECK_EQ(sequence.advantage_T.size(), T);
  if (!sequence.importance_weight_T.empty()) CHECK_EQ(sequence.importance_weight_T.size(), T);
  if (!sequence.turn_T.empty()) CHECK_EQ(sequence.turn_T.size(), T);
  if (!sequence.entropy_floor_scale_T.empty()) CHECK_EQ(sequence.entropy_floor_scale_T.size(), T);
  const bool needs_entropy = options.entropy_coef != 0.0 || options.top_entropy_quantile < 1.0;
  if (needs_entropy || !sequence.entropy_T.empty()) CHECK_EQ(sequence.entropy_T.size(), T);
}

double SumOfEntropies(const Sequence& sequence) {
  std::vector<double> entropies;
  for (int64_t t = 0; t < static_cast<int64_t>(sequence.entropy_T.size()); ++t) {
    if (sequence.Counts(t)) entropies.push_back(sequence.entropy_T[t]);
  }
  return kernels::TreeSum(entropies);
}

}  // namespace

SequenceLoss PolicyLoss(const Sequence& sequence, const LossOptions& options, const LossNormalizer& normalizer,
                        double entropy_threshold) {
  CheckSizes(sequence, options);
  const Context c = MakeContext(sequence, options, entropy_threshold);
  const std::vector<double> weight_T = ComputeTokenWeights(c, normalizer);
  SequenceLoss result;
  result.metrics.num_tokens = c.num_tokens;
  result.metrics.implicit_reward = options.regression_beta * c.reference_log_ratio;
  SummarizeRatios(c, &result.metrics);
  result.metrics.entropy_sum = SumOfEntropies(sequence);
  result.dloss_dlogprob_T.assign(sequence.logprob_T.size(), 0.0);
  const std::vector<double> zero_T(sequence.logprob_T.size(), 0.0);
  std::vector<double> value_T = zero_T, policy_T = zero_T, d_log_ratio_T = zero_T, d_sequence_T = zero_T;
  for (int64_t t = 0; t < sequence.size(); ++t) {
    if (!sequence.Counts(t)) continue;
    const Ratio ratio = c.per_token ? ComputeRatio(c.log_ratio_T[t]) : c.sequence_ratio;
    CountToken(c, t, ratio, &result.metrics);
    result.metrics.max_abs_log_ratio = std::max(result.metrics.max_abs_log_ratio, std::fabs(c.log_ratio_T[t]));
    const Term term = TokenTerm(c, t, ratio, &policy_T[t], &result.metrics);
    policy_T[t] *= weight_T[t];
    value_T[t] = weight_T[t] * term.value;
    d_log_ratio_T[t] = weight_T[t] * term.d_log_ratio;
    d_sequence_T[t] = weight_T[t] * term.d_sequence;
    result.dloss_dlogprob_T[t] = weight_T[t] * term.d_logprob + (c.per_token ? d_log_ratio_T[t] : 0.0);
  }
  result.loss = kernels::TreeSum(value_T);
  result.metrics.policy_loss = kernels::TreeSum(policy_T);
  if (!c.per_token) DistributeSequenceGradient(c, d_log_ratio_T, &result.dloss_dlogprob_T);
  if (!c.shared.slope_T.empty()) DistributeSharedGradient(c, d_sequence_T, &result.dloss_dlogprob_T);
  // A completion without tokens has probability 1 under any policy; RLOO's mean includes its constant term.
  if (options.loss_type == LossType::kRloo && c.num_tokens == 0) {
    result.loss =
        sequence.weight * TokenWeight(options, normalizer, 0) * PolicyTerm(c, {}, 0.0, sequence.advantage).value;
    result.metrics.policy_loss = result.loss;
  }
  AddExactDivergence(c, weight_T, &result);
  AddEntropyBonus(c, normalizer, &result);
  return result;
}

}  // namespace reprise::rl
