#ifndef RL_GRADIENT_STEP_LOSS_H_
#define RL_GRADIENT_STEP_LOSS_H_

// Computes the loss of every episode of a step; called by the shards' backward passes.

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rl/loss/policy_loss.h"
#include "rl/record/step_record.h"
#include "rl/value/value_loss.h"

namespace reprise::rl {

// What the loss of one episode contributes to the step's metrics. Plain data: sent between ranks as bytes.
struct EpisodeOutcome {
  double loss = 0;
  SequenceLossMetrics metrics;
  int64_t num_compared = 0;           // tokens that the policy drew, learned or not
  double logprob_difference_sum = 0;  // |sampled - recomputed|, over these tokens
  double logprob_difference_max = 0;
  // Importance-correction weights of the metrics.num_tokens tokens that count.
  double importance_sum = 0, importance_min = 1, importance_max = 1;
  double value_loss = 0;      // included in `loss`
  int64_t value_clipped = 0;  // tokens whose value was clipped
};

// Adds the outcome of another update, in which other tokens of the same episode counted.
void AddOutcome(const EpisodeOutcome& more, EpisodeOutcome* sum);

// Returns the sum over the episode's learned tokens of their estimated divergence; for k1 this is the sum of
// (log-probability - reference log-probability), which may be negative. Not for kExact (checked).
double SequenceDivergence(const EpisodeRecord& episode, KlEstimator estimator = KlEstimator::kK1);

// The losses reject non-finite numbers with an Internal error that names prompt, sample, token and value: the
// log-probabilities and entropies that they read, the advantage, the loss and its gradient as floats. ReinforcementLoss
// also rejects numbers that are not within bounds, and log-probabilities of a first update that differ from those of
// sampling.

// Internal where a log-probability of the episode, by the policy or by the reference, is not within bounds.
absl::Status CheckLogprobs(const EpisodeRecord& episode);

// Internal where a value that the value function predicted for the episode is not within bounds.
absl::Status CheckValues(const EpisodeRecord& episode, absl::Span<const double> value_T);

// What the losses of one update share.
struct UpdateContext {
  LossOptions options;
  LossNormalizer normalizer;
  bool first = false;
  // Whether a first update rejects log-probabilities that differ from those of sampling; false with run.reduction =
  // "fast".
  bool compares_with_sampling = true;
  double entropy_threshold = -std::numeric_limits<double>::infinity();  // of TopEntropyThreshold
};

// What the loss of an episode takes from the rest of the step.
struct EpisodeContext {
  absl::Span<const double> advantage_T = {};  // empty: every token has the episode's advantage
  bool masked = false;                        // no token counts
  absl::Span<const uint8_t> mask_T = {};      // which tokens count; empty: the episode's learned ones
  double weight = 1.0;
  // Of importance correction: old log-probabilities that replace the episode's, and the weights of the tokens.
  absl::Span<const double> old_logprob_T = {}, importance_weight_T = {};
  absl::Span<const float> exact_kl_T = {};             // from the reference, where the loss adds the exact divergence
  absl::Span<const float> entropy_floor_scale_T = {};  // Sequence's
};

// The gradient of a loss with respect to the log-probabilities and entropies of the policy, and to its exact divergence
// where that is given; elements that are not written stay 0.
struct LossGradient {
  absl::Span<float> dlogprob_T, dentropy_T, dexact_kl_T = {};
};

// Reinforcement: `first` is the first update with this batch, made by the policy that sampled it. Then the ratio is
// exactly 1; log-probabilities that the episode lacks (in a replay) are filled in, and those that it has are compared
// with the recomputed ones. Later updates use the episode's log-probabilities as the old ones. Thread-safe for
// different episodes.
absl::StatusOr<EpisodeOutcome> ReinforcementLoss(const UpdateContext& update, const EpisodeContext& context,
                                                 absl::Span<const float> logprob_T, absl::Span<const float> entropy_T,
                                                 EpisodeRecord* episode, const LossGradient& gradient);

// What the value function is trained with.
struct ValueContext {
  const ValueLossOptions& options;
  const LossNormalizer& normalizer;
  absl::Span<const double> old_value_T, return_T;
  bool masked = false;                    // no token counts
  absl::Span<const uint8_t> mask_T = {};  // which tokens count; empty: the episode's learned ones
  double weight = 1.0;
};

// Adds the value function's loss to the outcome's. Rejects non-finite numbers like the losses above. Thread-safe for
// different episodes.
absl::Status AddValueLoss(const ValueContext& context, const EpisodeRecord& episode, absl::Span<const float> value_T,
                          absl::Span<float> dvalue_T, EpisodeOutcome* outcome);

// Supervised SFT phase: cross-entropy, the mean over the step's num_tokens tokens of the policy. Sets the episode's
// log-probabilities.
absl::StatusOr<EpisodeOutcome> SupervisedLoss(int64_t num_tokens, absl::Span<const float> logprob_T,
                                              absl::Span<const float> entropy_T, EpisodeRecord* episode,
                                              absl::Span<float> dlogprob_T);

}  // namespace reprise::rl

#endif  // RL_GRADIENT_STEP_LOSS_H_
