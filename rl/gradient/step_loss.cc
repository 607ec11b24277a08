#include "rl/gradient/step_loss.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/advantage/token_rewards.h"
#include "rl/loss/sequence.h"
#include "rl/record/bounds.h"
#include "rl/record/decisions.h"

namespace reprise::rl {
namespace {

std::vector<double> ToDouble(absl::Span<const float> values) { return {values.begin(), values.end()}; }

// Compares all tokens that the policy drew, learned or not. `recomputed_T` is 0 at observations, as the episode's
// log-probabilities are.
void Compare(const EpisodeRecord& episode, absl::Span<const float> recomputed_T, EpisodeOutcome* outcome) {
  const absl::Span<const float> sampled_T = episode.logprobs;
  std::vector<double> differences;
  for (size_t t = 0; t < sampled_T.size(); ++t) {
    differences.push_back(std::fabs(static_cast<double>(sampled_T[t]) - static_cast<double>(recomputed_T[t])));
    outcome->logprob_difference_max = std::max(outcome->logprob_difference_max, differences.back());
  }
  outcome->logprob_difference_sum = kernels::TreeSum(differences);
  outcome->num_compared = NumDrawn(episode.decisions);
}

// Summarizes the weights of the tokens that count.
void SummarizeWeights(absl::Span<const double> all_T, absl::Span<const uint8_t> mask_T, EpisodeOutcome* outcome) {
  std::vector<double> weight_T;
  for (size_t t = 0; t < all_T.size(); ++t) {
    if (mask_T.empty() || mask_T[t] != 0) weight_T.push_back(all_T[t]);
  }
  if (weight_T.empty()) return;
  outcome->importance_sum = kernels::TreeSum(weight_T);
  outcome->importance_min = *std::min_element(weight_T.begin(), weight_T.end());
  outcome->importance_max = *std::max_element(weight_T.begin(), weight_T.end());
}

absl::Status Reject(const EpisodeRecord& episode, absl::string_view what) {
  return absl::InternalError(absl::StrCat("prompt ", episode.prompt, " sample ", episode.sample, ": ", what));
}

absl::Status Named(const EpisodeRecord& episode, const absl::Status& status) {
  return status.ok() ? status : Reject(episode, status.message());
}

absl::Status CheckInputs(const Sequence& sequence, const EpisodeRecord& episode) {
  return Named(episode, CheckFinite(sequence));
}

// Returns the mask of tokens that count: none of a masked episode, else `mask_T`, or the learned ones where it is
// empty.
std::vector<uint8_t> CountedMask(const EpisodeRecord& episode, bool masked, absl::Span<const uint8_t> mask_T) {
  if (masked) return std::vector<uint8_t>(static_cast<size_t>(episode.decisions.count), 0);
  return mask_T.empty() ? episode.decisions.learned_T : std::vector<uint8_t>(mask_T.begin(), mask_T.end());
}

void AddMetrics(const SequenceLossMetrics& more, SequenceLossMetrics* sum) {
  for (const auto field :
       {&SequenceLossMetrics::num_tokens, &SequenceLossMetrics::num_ratios, &SequenceLossMetrics::low_clipped,
        &SequenceLossMetrics::high_clipped, &SequenceLossMetrics::dual_clipped, &SequenceLossMetrics::num_vespo_weights,
        &SequenceLossMetrics::clamped}) {
    sum->*field += more.*field;
  }
  for (const auto field :
       {&SequenceLossMetrics::policy_loss, &SequenceLossMetrics::kl_sum, &SequenceLossMetrics::entropy_sum,
        &SequenceLossMetrics::approx_kl_sum, &SequenceLossMetrics::vespo_weight_sum, &SequenceLossMetrics::ratio_sum,
        &SequenceLossMetrics::squared_log_ratio_sum, &SequenceLossMetrics::squared_ratio_distance_sum,
        &SequenceLossMetrics::implicit_reward}) {
    sum->*field += more.*field;
  }
  sum->least_ratio = std::min(sum->least_ratio, more.least_ratio);
  sum->greatest_ratio = std::max(sum->greatest_ratio, more.greatest_ratio);
  sum->max_abs_log_ratio = std::max(sum->max_abs_log_ratio, more.max_abs_log_ratio);
}

// Checks inputs before what is computed from them, so that the cause is named.
absl::Status CheckNumbers(const Sequence& sequence, absl::Span<const float> logprob_T, const EpisodeRecord& episode) {
  RETURN_IF_ERROR(Named(episode, CheckWithinBounds(logprob_T, "logprob")));
  RETURN_IF_ERROR(CheckLogprobs(episode));
  if (!IsWithinBounds(sequence.advantage)) return Reject(episode, absl::StrCat("advantage is ", sequence.advantage));
  return Named(episode, CheckWithinBounds(sequence.advantage_T, "advantage"));
}

// Sampling and training compute the same log-probabilities, bit for bit: a difference means corruption.
absl::Status CheckRecomputed(const EpisodeRecord& episode, absl::Span<const float> logprob_T) {
  const std::vector<uint8_t>& mask_T = episode.decisions.drawn_T;
  for (size_t t = 0; t < logprob_T.size(); ++t) {
    if (episode.logprobs[t] == logprob_T[t] || (!mask_T.empty() && mask_T[t] == 0)) continue;
    return Reject(episode, absl::StrCat("logprob of token ", t, " is ", logprob_T[t], ", but was ", episode.logprobs[t],
                                        " when the token was sampled with the same weights: memory is corrupted, or "
                                        "this machine computes incorrectly; no weight was changed"));
  }
  return absl::OkStatus();
}

void ToFloat(absl::Span<const double> values, absl::Span<float> floats) {
  for (size_t t = 0; t < values.size(); ++t) floats[t] = static_cast<float>(values[t]);
}

absl::Status CheckOutputs(const EpisodeRecord& episode, double loss, absl::Span<const float> gradient_T,
                          absl::string_view tensor) {
  if (!std::isfinite(loss)) return Reject(episode, absl::StrCat("its loss is ", loss));
  for (size_t t = 0; t < gradient_T.size(); ++t) {
    if (std::isfinite(gradient_T[t])) continue;
    return Reject(episode,
                  absl::StrCat("the gradient of the loss by ", tensor, " of token ", t, " is ", gradient_T[t]));
  }
  return absl::OkStatus();
}

}  // namespace

void AddOutcome(const EpisodeOutcome& more, EpisodeOutcome* sum) {
  AddMetrics(more.metrics, &sum->metrics);
  sum->loss += more.loss;
  sum->value_loss += more.value_loss;
  sum->value_clipped += more.value_clipped;
  sum->importance_sum += more.importance_sum;
  sum->importance_min = std::min(sum->importance_min, more.importance_min);
  sum->importance_max = std::max(sum->importance_max, more.importance_max);
  // Tokens are compared with their sampling in the step's first update alone.
  sum->num_compared += more.num_compared;
  sum->logprob_difference_sum += more.logprob_difference_sum;
  sum->logprob_difference_max = std::max(sum->logprob_difference_max, more.logprob_difference_max);
}

double SequenceDivergence(const EpisodeRecord& episode, KlEstimator estimator) {
  CHECK_EQ(episode.logprobs.size(), episode.ref_logprobs.size());
  const std::vector<uint8_t>& mask_T = episode.decisions.learned_T;
  if (estimator != KlEstimator::kK1) {
    return kernels::TreeSum(
        TokenDivergences(ToDouble(episode.logprobs), ToDouble(episode.ref_logprobs), mask_T, estimator));
  }
  std::vector<double> difference_T(episode.logprobs.size(), 0.0);
  for (size_t t = 0; t < difference_T.size(); ++t) {
    if (!mask_T.empty() && mask_T[t] == 0) continue;
    difference_T[t] = static_cast<double>(episode.logprobs[t]) - static_cast<double>(episode.ref_logprobs[t]);
  }
  return kernels::TreeSum(difference_T);
}

absl::Status CheckLogprobs(const EpisodeRecord& episode) {
  const auto check = [&](const std::vector<float>& values_T, absl::string_view name) {
    if (values_T.empty()) return absl::OkStatus();
    const std::vector<float> drawn_T = OnDrawn(episode.decisions, values_T);
    return Named(episode, CheckWithinBounds(absl::MakeConstSpan(drawn_T), name));
  };
  RETURN_IF_ERROR(check(episode.logprobs, "old_logprob"));
  return check(episode.ref_logprobs, "ref_logprob");
}

absl::Status CheckValues(const EpisodeRecord& episode, absl::Span<const double> value_T) {
  return Named(episode, CheckWithinBounds(value_T, "old value"));
}

absl::StatusOr<EpisodeOutcome> ReinforcementLoss(const UpdateContext& update, const EpisodeContext& context,
                                                 absl::Span<const float> logprob_T, absl::Span<const float> entropy_T,
                                                 EpisodeRecord* episode, const LossGradient& gradient) {
  EpisodeOutcome outcome;
  const std::vector<float> recomputed_T = OnDrawn(episode->decisions, logprob_T);
  if (update.first) {
    SetIfLacking(logprob_T, entropy_T, episode);
    Compare(*episode, recomputed_T, &outcome);
  }
  const std::vector<double> logprob = ToDouble(logprob_T), entropy = ToDouble(entropy_T);
  const bool corrected = !context.old_logprob_T.empty();
  const std::vector<double> old_logprob =
      corrected ? std::vector<double>(context.old_logprob_T.begin(), context.old_logprob_T.end())
                : ToDouble(episode->logprobs);
  const std::vector<double> ref_logprob = ToDouble(episode->ref_logprobs);
  const std::vector<uint8_t> mask = CountedMask(*episode, context.masked, context.mask_T);
  const std::vector<int32_t>& turn_T = episode->decisions.turn_T;
  Sequence sequence;
  sequence.logprob_T = logprob;
  sequence.old_logprob_T = old_logprob;
  sequence.ref_logprob_T = ref_logprob;
  sequence.importance_weight_T = context.importance_weight_T;
  sequence.entropy_T = entropy;
  const std::vector<double> exact_kl = ToDouble(context.exact_kl_T);
  sequence.exact_kl_T = exact_kl;
  const std::vector<double> floor_scale = ToDouble(context.entropy_floor_scale_T);
  sequence.entropy_floor_scale_T = floor_scale;
  sequence.mask_T = mask;
  sequence.turn_T = turn_T;
  sequence.advantage = episode->advantage;
  sequence.advantage_T = context.advantage_T;
  sequence.weight = context.weight;
  RETURN_IF_ERROR(CheckNumbers(sequence, recomputed_T, *episode));
  RETURN_IF_ERROR(CheckInputs(sequence, *episode));
  if (update.first && update.compares_with_sampling && !corrected)
    RETURN_IF_ERROR(CheckRecomputed(*episode, recomputed_T));
  if (update.first) sequence.old_logprob_T = {};
  const SequenceLoss loss = PolicyLoss(sequence, update.options, update.normalizer, update.entropy_threshold);
  ToFloat(loss.dloss_dlogprob_T, gradient.dlogprob_T);
  ToFloat(loss.dloss_dentropy_T, gradient.dentropy_T);
  RETURN_IF_ERROR(CheckOutputs(*episode, loss.loss, gradient.dlogprob_T, "logprob"));
  RETURN_IF_ERROR(CheckOutputs(*episode, loss.loss, gradient.dentropy_T, "entropy"));
  ToFloat(loss.dloss_dexact_kl_T, gradient.dexact_kl_T);
  RETURN_IF_ERROR(CheckOutputs(*episode, loss.loss, gradient.dexact_kl_T, "divergence"));
  outcome.loss = loss.loss;
  outcome.metrics = loss.metrics;
  SummarizeWeights(context.importance_weight_T, mask, &outcome);
  return outcome;
}

absl::Status AddValueLoss(const ValueContext& context, const EpisodeRecord& episode, absl::Span<const float> value_T,
                          absl::Span<float> dvalue_T, EpisodeOutcome* outcome) {
  RETURN_IF_ERROR(Named(episode, CheckWithinBounds(value_T, "value")));
  RETURN_IF_ERROR(CheckValues(episode, context.old_value_T));
  RETURN_IF_ERROR(Named(episode, CheckWithinBounds(context.return_T, "return")));
  const std::vector<double> value = ToDouble(value_T);
  const std::vector<uint8_t> mask = CountedMask(episode, context.masked, context.mask_T);
  ValueLoss loss =
      SequenceValueLoss({value, context.old_value_T, context.return_T, mask}, context.options, context.normalizer);
  for (double& slope : loss.dloss_dvalue_T) slope *= context.weight;
  ToFloat(loss.dloss_dvalue_T, dvalue_T);
  outcome->value_loss = context.weight * loss.loss;
  outcome->value_clipped = loss.clipped;
  outcome->loss += outcome->value_loss;
  return CheckOutputs(episode, outcome->loss, dvalue_T, "value");
}

absl::StatusOr<EpisodeOutcome> SupervisedLoss(int64_t num_tokens, absl::Span<const float> logprob_T,
                                              absl::Span<const float> entropy_T, EpisodeRecord* episode,
                                              absl::Span<float> dlogprob_T) {
  episode->logprobs = OnDrawn(episode->decisions, logprob_T);
  episode->entropies = OnDrawn(episode->decisions, entropy_T);
  const std::vector<double> logprob = ToDouble(episode->logprobs), entropy = ToDouble(episode->entropies);
  Sequence sequence;
  sequence.logprob_T = logprob;
  sequence.entropy_T = entropy;
  RETURN_IF_ERROR(CheckInputs(sequence, *episode));
  const double weight = 1.0 / static_cast<double>(num_tokens);
  const std::vector<uint8_t>& mask_T = episode->decisions.drawn_T;
  for (size_t t = 0; t < dlogprob_T.size(); ++t) {
    dlogprob_T[t] = mask_T.empty() || mask_T[t] != 0 ? static_cast<float>(-weight) : 0.0f;
  }
  EpisodeOutcome outcome;
  outcome.loss = -weight * kernels::TreeSum(logprob);
  outcome.metrics.num_tokens = NumDrawn(episode->decisions);
  outcome.metrics.entropy_sum = kernels::TreeSum(entropy);
  RETURN_IF_ERROR(CheckOutputs(*episode, outcome.loss, dlogprob_T, "logprob"));
  return outcome;
}

}  // namespace reprise::rl
