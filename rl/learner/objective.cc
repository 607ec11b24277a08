#include "rl/learner/objective.h"

#include "core/status/status_macros.h"
#include "rl/gradient/corruption_origin.h"

namespace reprise::rl {

UpdateLosses PolicyObjective::MakeLosses(const Minibatch& minibatch, absl::Span<EpisodeOutcome> outcome_N) const {
  const bool is_own =
      minibatch.context.first && minibatch.context.compares_with_sampling && scores_.correction_N.empty();
  UpdateLosses losses;
  losses.policy = [this, is_own, &minibatch, outcome_N](int64_t index, const DecisionScores& scores,
                                                        const DecisionGradients& gradients) {
    const size_t at = static_cast<size_t>(index);
    const EpisodeRecord& episode = batch_.episode_N[at];
    const absl::Status status = PolicyLoss(minibatch, at, scores, gradients, &outcome_N[at]);
    return WithOrigin({step_context_.parts.policy(), step_context_.reference.get(), minibatch.temperature, is_own},
                      batch_.FindTask(episode), episode, scores.logprob_T, status);
  };
  if (NeedsValues(plan_.algorithm)) {
    losses.values = [this, &minibatch, outcome_N](int64_t index, absl::Span<const float> value_T,
                                                  absl::Span<float> dvalue_T) {
      const size_t at = static_cast<size_t>(index);
      const EpisodeRecord& episode = batch_.episode_N[at];
      const absl::Status status = ValueLoss(minibatch, at, value_T, dvalue_T, &outcome_N[at]);
      return WithOrigin({step_context_.parts.policy(), nullptr, minibatch.temperature, false}, batch_.FindTask(episode),
                        episode, {}, status);
    };
  }
  if (plan_.algorithm.loss.kl_estimator == KlEstimator::kExact && plan_.algorithm.loss.beta != 0) {
    losses.reference = step_context_.reference.get();
  }
  return losses;
}

absl::Status PolicyObjective::PolicyLoss(const Minibatch& minibatch, size_t at, const DecisionScores& scores,
                                         const DecisionGradients& gradients, EpisodeOutcome* outcome) const {
  EpisodeRecord* const episode = &batch_.episode_N[at];
  const EpisodeLossInfo& info = advantages_.loss_info_N[batch_.shape.PlaceOf(*episode)];
  EpisodeContext context = {.masked = info.masked, .mask_T = minibatch.EpisodeMask(at), .weight = info.size.weight};
  context.exact_kl_T = scores.divergence_T;
  context.advantage_T = episode->advantage_T;
  context.entropy_floor_scale_T = scores.entropy_floor_scale_T;
  if (!scores_.correction_N.empty()) {
    context.old_logprob_T = scores_.correction_N[at].old_logprob_T;
    context.importance_weight_T = scores_.correction_N[at].weight_T;
  }
  ASSIGN_OR_RETURN(*outcome, ReinforcementLoss(minibatch.context, context, scores.logprob_T, scores.entropy_T, episode,
                                               {gradients.dlogprob_T, gradients.dentropy_T, gradients.ddivergence_T}));
  return absl::OkStatus();
}

absl::Status PolicyObjective::ValueLoss(const Minibatch& minibatch, size_t at, absl::Span<const float> value_T,
                                        absl::Span<float> dvalue_T, EpisodeOutcome* outcome) const {
  const EpisodeRecord& episode = batch_.episode_N[at];
  const EpisodeLossInfo& info = advantages_.loss_info_N[batch_.shape.PlaceOf(episode)];
  const ValueContext context = {
      plan_.algorithm.value, minibatch.context.normalizer, scores_.value_NT[at], advantages_.return_NT[at],
      info.masked,           minibatch.EpisodeMask(at),    info.size.weight};
  return AddValueLoss(context, episode, value_T, dvalue_T, outcome);
}

UpdateLosses AnswerObjective::MakeLosses(const Minibatch& minibatch, absl::Span<EpisodeOutcome> outcome_N) const {
  return {.policy = [this, &minibatch, outcome_N](int64_t index, const DecisionScores& scores,
                                                  const DecisionGradients& gradients) -> absl::Status {
    const size_t at = static_cast<size_t>(index);
    EpisodeRecord& episode = batch_.episode_N[at];
    const absl::StatusOr<EpisodeOutcome> outcome = SupervisedLoss(batch_.counts.learned_tokens, scores.logprob_T,
                                                                  scores.entropy_T, &episode, gradients.dlogprob_T);
    if (outcome.ok()) outcome_N[at] = *outcome;
    return WithOrigin({step_context_.parts.policy(), step_context_.reference.get(), minibatch.temperature, false},
                      batch_.FindTask(episode), episode, scores.logprob_T, outcome.status());
  }};
}

}  // namespace reprise::rl
