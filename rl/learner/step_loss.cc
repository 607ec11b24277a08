#include "rl/learner/step_loss.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/learner/record_turns.h"
#include "rl/loss/sequence.h"

namespace reprise::rl {
namespace {

std::vector<double> ToDouble(absl::Span<const float> values) { return {values.begin(), values.end()}; }

// `recomputed_T` is 0 where `sampled_T` is: where the environment spoke.
void Compare(absl::Span<const float> sampled_T, absl::Span<const float> recomputed_T, EpisodeOutcome* outcome) {
  std::vector<double> differences;
  for (size_t t = 0; t < sampled_T.size(); ++t) {
    differences.push_back(std::fabs(static_cast<double>(sampled_T[t]) - static_cast<double>(recomputed_T[t])));
    outcome->logprob_difference_max = std::max(outcome->logprob_difference_max, differences.back());
  }
  outcome->logprob_difference_sum = kernels::TreeSum(differences);
}

absl::Status Refuse(const EpisodeRecord& episode, absl::string_view what) {
  return absl::InternalError(absl::StrCat("prompt ", episode.prompt, " sample ", episode.sample, ": ", what));
}

absl::Status CheckInputs(const Sequence& sequence, const EpisodeRecord& episode) {
  const absl::Status status = CheckFinite(sequence);
  return status.ok() ? status : Refuse(episode, status.message());
}

void ToFloat(absl::Span<const double> values, absl::Span<float> floats) {
  for (size_t t = 0; t < values.size(); ++t) floats[t] = static_cast<float>(values[t]);
}

absl::Status CheckOutputs(const EpisodeRecord& episode, double loss, absl::Span<const float> gradient_T,
                          absl::string_view tensor) {
  if (!std::isfinite(loss)) return Refuse(episode, absl::StrCat("its loss is ", loss));
  for (size_t t = 0; t < gradient_T.size(); ++t) {
    if (std::isfinite(gradient_T[t])) continue;
    return Refuse(episode,
                  absl::StrCat("the gradient of the loss by ", tensor, " of token ", t, " is ", gradient_T[t]));
  }
  return absl::OkStatus();
}

}  // namespace

double SequenceDivergence(const EpisodeRecord& episode) {
  CHECK_EQ(episode.logprobs.size(), episode.ref_logprobs.size());
  std::vector<double> difference_T;
  for (size_t t = 0; t < episode.logprobs.size(); ++t) {
    difference_T.push_back(static_cast<double>(episode.logprobs[t]) - static_cast<double>(episode.ref_logprobs[t]));
  }
  return kernels::TreeSum(difference_T);
}

absl::StatusOr<EpisodeOutcome> ReinforcementLoss(const UpdateContext& update, const EpisodeContext& context,
                                                 absl::Span<const float> logprob_T, absl::Span<const float> entropy_T,
                                                 EpisodeRecord* episode, const LossGradient& gradient) {
  EpisodeOutcome outcome;
  if (update.first) {
    const std::vector<float> recomputed_T = OnActions(*episode, logprob_T);
    if (episode->logprobs.empty()) episode->logprobs = recomputed_T;
    Compare(episode->logprobs, recomputed_T, &outcome);
  }
  const std::vector<double> logprob = ToDouble(logprob_T), entropy = ToDouble(entropy_T);
  const std::vector<double> old_logprob = ToDouble(episode->logprobs), ref_logprob = ToDouble(episode->ref_logprobs);
  const std::vector<uint8_t> mask = context.masked ? std::vector<uint8_t>(logprob.size(), 0) : ActionMaskOf(*episode);
  const std::vector<int32_t> turn_T = TurnsOf(*episode);
  Sequence sequence;
  sequence.logprob_T = logprob;
  sequence.old_logprob_T = old_logprob;
  sequence.ref_logprob_T = ref_logprob;
  sequence.entropy_T = entropy;
  sequence.mask_T = mask;
  sequence.turn_T = turn_T;
  sequence.advantage = episode->advantage;
  sequence.advantage_T = context.advantage_T;
  sequence.weight = context.weight;
  RETURN_IF_ERROR(CheckInputs(sequence, *episode));
  if (update.first) sequence.old_logprob_T = {};
  const SequenceLoss loss = PolicyLoss(sequence, update.options, update.normalizer, update.entropy_threshold);
  ToFloat(loss.dloss_dlogprob_T, gradient.dlogprob_T);
  ToFloat(loss.dloss_dentropy_T, gradient.dentropy_T);
  RETURN_IF_ERROR(CheckOutputs(*episode, loss.loss, gradient.dlogprob_T, "logprob"));
  RETURN_IF_ERROR(CheckOutputs(*episode, loss.loss, gradient.dentropy_T, "entropy"));
  outcome.loss = loss.loss;
  outcome.metrics = loss.metrics;
  return outcome;
}

absl::StatusOr<EpisodeOutcome> SupervisedLoss(int64_t num_tokens, absl::Span<const float> logprob_T,
                                              absl::Span<const float> entropy_T, EpisodeRecord* episode,
                                              absl::Span<float> dlogprob_T) {
  episode->logprobs = OnActions(*episode, logprob_T);
  const std::vector<double> logprob = ToDouble(episode->logprobs), entropy = ToDouble(OnActions(*episode, entropy_T));
  Sequence sequence;
  sequence.logprob_T = logprob;
  sequence.entropy_T = entropy;
  RETURN_IF_ERROR(CheckInputs(sequence, *episode));
  const double weight = 1.0 / static_cast<double>(num_tokens);
  const std::vector<uint8_t> mask_T = ActionMaskOf(*episode);
  for (size_t t = 0; t < dlogprob_T.size(); ++t) {
    dlogprob_T[t] = mask_T.empty() || mask_T[t] != 0 ? static_cast<float>(-weight) : 0.0f;
  }
  EpisodeOutcome outcome;
  outcome.loss = -weight * kernels::TreeSum(logprob);
  outcome.metrics.num_tokens = NumActionTokens(*episode);
  outcome.metrics.entropy_sum = kernels::TreeSum(entropy);
  RETURN_IF_ERROR(CheckOutputs(*episode, outcome.loss, dlogprob_T, "logprob"));
  return outcome;
}

}  // namespace reprise::rl
