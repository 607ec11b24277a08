#include "rl/loss/policy_loss.h"

#include <algorithm>
#include <cmath>

#include "core/status/check.h"
#include "kernels/sums/sums.h"
#include "rl/loss/cispo.h"
#include "rl/loss/clipped_surrogate.h"
#include "rl/loss/divergence.h"
#include "rl/loss/off_policy_mask.h"
#include "rl/loss/ratio.h"
#include "rl/loss/sapo.h"
#include "rl/loss/vespo.h"

namespace reprise::rl {
namespace {

// What all tokens of a sequence share.
struct Context {
  const Sequence& sequence;
  const LossOptions& options;
  int64_t num_tokens;
  std::vector<double> log_ratio_T;
  bool per_token;        // whether each token has a ratio of its own
  Ratio sequence_ratio;  // where it has not
  bool off_policy;
  double entropy_threshold;
  double vespo_weight;
};

Context MakeContext(const Sequence& sequence, const LossOptions& options, double entropy_threshold) {
  Context c = {.sequence = sequence,
               .options = options,
               .num_tokens = sequence.num_tokens(),
               .log_ratio_T = LogRatios(sequence),
               .per_token = options.importance_sampling_level == ImportanceLevel::kToken,
               .sequence_ratio = {},
               .off_policy = false,
               .entropy_threshold = entropy_threshold,
               .vespo_weight = 0.0};
  if (!c.per_token) {
    c.sequence_ratio = RatioOf(SequenceLogRatio(options.importance_sampling_level, c.log_ratio_T, c.num_tokens));
  }
  c.off_policy = IsOffPolicy(c.log_ratio_T, c.num_tokens, sequence.advantage, options.off_policy_mask_threshold);
  if (options.loss_type == LossType::kVespo) {
    c.vespo_weight = VespoWeight(c.log_ratio_T, sequence.advantage, options.vespo);
  }
  return c;
}

Term PolicyTerm(const Context& c, const Ratio& ratio, double logprob) {
  switch (c.options.loss_type) {
    case LossType::kCispo:
      return CispoTerm(ratio, logprob, c.sequence.advantage, c.options);
    case LossType::kSapo:
      return SapoTerm(ratio, c.sequence.advantage, c.options);
    case LossType::kVespo:
      return VespoTerm(c.vespo_weight, logprob, c.sequence.advantage);
    default:
      return ClippedSurrogate(ratio, c.sequence.advantage, c.options);
  }
}

// The token's whole term, and what it adds to the metrics that are sums over tokens.
Term TokenTerm(const Context& c, int64_t t, const Ratio& ratio, SequenceLossMetrics* metrics) {
  const double logprob = c.sequence.logprob_T[t];
  const bool kept =
      !c.off_policy && (c.options.top_entropy_quantile >= 1.0 || c.sequence.entropy_T[t] >= c.entropy_threshold);
  Term term = kept ? PolicyTerm(c, ratio, logprob) : Term{};
  if (c.options.beta == 0.0) return term;
  const double ref = c.sequence.ref_logprob_T[t];
  const Term divergence = DivergenceTerm(logprob, ref, ratio, c.options.use_bias_correction_kl);
  metrics->kl_sum += divergence.value;
  metrics->clamped += std::fabs(ref - logprob) > kMaxLogRatio ? 1 : 0;
  term.value += c.options.beta * divergence.value;
  term.d_log_ratio += c.options.beta * divergence.d_log_ratio;
  term.d_logprob += c.options.beta * divergence.d_logprob;
  return term;
}

void CountRatio(const Context& c, const Ratio& ratio, SequenceLossMetrics* metrics) {
  ++metrics->num_ratios;
  metrics->clamped += ratio.clamped ? 1 : 0;
  const double advantage = c.sequence.advantage;
  if (c.options.loss_type == LossType::kCispo) {
    metrics->high_clipped += IsCispoCapped(ratio, advantage, c.options) ? 1 : 0;
    return;
  }
  metrics->low_clipped += IsLowClipped(ratio, advantage, c.options) ? 1 : 0;
  metrics->high_clipped += IsHighClipped(ratio, advantage, c.options) ? 1 : 0;
}

// One ratio for all tokens: its gradient is gathered over them, then dealt to the log-probs that made it.
void DealSequenceGradient(const Context& c, const std::vector<double>& d_log_ratio_T, std::vector<double>* gradient_T) {
  const bool mean = c.options.importance_sampling_level == ImportanceLevel::kSequence;
  const double total = kernels::TreeSum(d_log_ratio_T);
  const double share = mean ? total / static_cast<double>(std::max<int64_t>(c.num_tokens, 1)) : total;
  for (int64_t t = 0; t < c.sequence.size(); ++t) {
    if (c.sequence.Counts(t)) (*gradient_T)[t] += share;
  }
}

void AddEntropyBonus(const Context& c, const LossNormalizer& normalizer, SequenceLoss* result) {
  if (c.options.entropy_coef == 0.0) return;
  const double weight = c.options.entropy_coef / std::max(normalizer.num_tokens, 1.0);
  result->loss -= weight * result->metrics.entropy_sum;
  result->dloss_dentropy_T.assign(c.sequence.logprob_T.size(), 0.0);
  for (int64_t t = 0; t < c.sequence.size(); ++t) {
    if (c.sequence.Counts(t)) result->dloss_dentropy_T[t] = -weight;
  }
}

void CheckSizes(const Sequence& sequence, const LossOptions& options) {
  const size_t T = sequence.logprob_T.size();
  if (!sequence.mask_T.empty()) CHECK_EQ(sequence.mask_T.size(), T);
  if (options.beta != 0.0) CHECK_EQ(sequence.ref_logprob_T.size(), T);
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
  const double weight = TokenWeight(options, normalizer, c.num_tokens);
  SequenceLoss result;
  result.metrics.num_tokens = c.num_tokens;
  result.metrics.vespo_weight = c.vespo_weight;
  result.metrics.entropy_sum = SumOfEntropies(sequence);
  result.dloss_dlogprob_T.assign(sequence.logprob_T.size(), 0.0);
  std::vector<double> value_T(sequence.logprob_T.size(), 0.0), d_log_ratio_T(sequence.logprob_T.size(), 0.0);
  if (!c.per_token) CountRatio(c, c.sequence_ratio, &result.metrics);
  for (int64_t t = 0; t < sequence.size(); ++t) {
    if (!sequence.Counts(t)) continue;
    const Ratio ratio = c.per_token ? RatioOf(c.log_ratio_T[t]) : c.sequence_ratio;
    if (c.per_token) CountRatio(c, ratio, &result.metrics);
    result.metrics.max_abs_log_ratio = std::max(result.metrics.max_abs_log_ratio, std::fabs(c.log_ratio_T[t]));
    const Term term = TokenTerm(c, t, ratio, &result.metrics);
    value_T[t] = weight * term.value;
    d_log_ratio_T[t] = weight * term.d_log_ratio;
    result.dloss_dlogprob_T[t] = weight * term.d_logprob + (c.per_token ? d_log_ratio_T[t] : 0.0);
  }
  result.loss = kernels::TreeSum(value_T);
  if (!c.per_token) DealSequenceGradient(c, d_log_ratio_T, &result.dloss_dlogprob_T);
  // An answer without tokens has probability 1 under any policy; RLOO's mean counts its constant all the same.
  if (options.loss_type == LossType::kRloo && c.num_tokens == 0) result.loss = weight * PolicyTerm(c, {}, 0.0).value;
  AddEntropyBonus(c, normalizer, &result);
  return result;
}

}  // namespace reprise::rl
