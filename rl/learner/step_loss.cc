#include "rl/learner/step_loss.h"

#include <algorithm>
#include <cmath>

#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

std::vector<double> ToDouble(absl::Span<const float> values) { return {values.begin(), values.end()}; }

void Compare(absl::Span<const float> sampled_T, absl::Span<const float> recomputed_T, EpisodeOutcome* outcome) {
  std::vector<double> differences;
  for (size_t t = 0; t < sampled_T.size(); ++t) {
    differences.push_back(std::fabs(static_cast<double>(sampled_T[t]) - static_cast<double>(recomputed_T[t])));
    outcome->logprob_difference_max = std::max(outcome->logprob_difference_max, differences.back());
  }
  outcome->logprob_difference_sum = kernels::TreeSum(differences);
}

}  // namespace

EpisodeOutcome ReinforcementLoss(const LossOptions& options, const LossNormalizer& normalizer, bool first,
                                 absl::Span<const float> logprob_T, absl::Span<const float> entropy_T,
                                 EpisodeRecord* episode, absl::Span<float> dlogprob_T) {
  EpisodeOutcome outcome;
  if (first) {
    if (episode->logprobs.empty()) episode->logprobs.assign(logprob_T.begin(), logprob_T.end());
    Compare(episode->logprobs, logprob_T, &outcome);
  }
  const std::vector<double> logprob = ToDouble(logprob_T), entropy = ToDouble(entropy_T);
  const std::vector<double> old_logprob = first ? std::vector<double>() : ToDouble(episode->logprobs);
  Sequence sequence;
  sequence.logprob_T = logprob;
  sequence.old_logprob_T = old_logprob;
  sequence.entropy_T = entropy;
  sequence.advantage = episode->advantage;
  const SequenceLoss loss = PolicyLoss(sequence, options, normalizer);
  for (size_t t = 0; t < dlogprob_T.size(); ++t) dlogprob_T[t] = static_cast<float>(loss.dloss_dlogprob_T[t]);
  outcome.loss = loss.loss;
  outcome.metrics = loss.metrics;
  return outcome;
}

EpisodeOutcome SupervisedLoss(int64_t num_tokens, absl::Span<const float> logprob_T, absl::Span<const float> entropy_T,
                              EpisodeRecord* episode, absl::Span<float> dlogprob_T) {
  episode->logprobs.assign(logprob_T.begin(), logprob_T.end());
  const double weight = 1.0 / static_cast<double>(num_tokens);
  std::fill(dlogprob_T.begin(), dlogprob_T.end(), static_cast<float>(-weight));
  EpisodeOutcome outcome;
  outcome.loss = -weight * kernels::TreeSum(ToDouble(logprob_T));
  outcome.metrics.num_tokens = static_cast<int64_t>(logprob_T.size());
  outcome.metrics.entropy_sum = kernels::TreeSum(ToDouble(entropy_T));
  return outcome;
}

}  // namespace reprise::rl
