#ifndef RL_VALUE_VALUE_LOSS_H_
#define RL_VALUE_VALUE_LOSS_H_

// The clipped loss of a value function, as in PPO implementations (TRL's PPOTrainer, verl; Engstrom et al., 2020):
//   vf_coef / 2 mean over tokens of max( (V - R)^2, (clip(V, V_old - c, V_old + c) - R)^2 ),   c: cliprange_value,
// without c the plain square. The mean is over the tokens of the whole minibatch, not of its micro-batches.
// Departure: where both branches are equal, the derivative is the first one's (PyTorch: the mean of both).

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/sums/moments.h"
#include "rl/loss/aggregation.h"

namespace reprise::rl {

struct ValueLossOptions {
  std::optional<double> cliprange_value = 0.2;
  double vf_coef = 0.1;

  bool operator==(const ValueLossOptions&) const = default;
};

// Returns InvalidArgument, with key, value and range.
absl::Status ValidateValueLossOptions(const ValueLossOptions& options);

// T tokens of one sequence.
struct ValueSequence {
  absl::Span<const double> value_T = {};      // of the value function in training
  absl::Span<const double> old_value_T = {};  // of the one used for the returns; read where values are
                                              // clipped
  absl::Span<const double> return_T = {};     // the value's target
  absl::Span<const uint8_t> mask_T = {};      // 0: never read; empty: all tokens count
};

struct ValueLoss {
  double loss = 0.0;                   // with vf_coef
  std::vector<double> dloss_dvalue_T;  // 0 at masked tokens
  int64_t num_tokens = 0;
  int64_t clipped = 0;  // tokens whose clipped branch is the greater one (PPOTrainer's val/clipfrac)
};

// Returns this sequence's part of the minibatch's loss; reads normalizer.num_tokens. Pure.
ValueLoss SequenceValueLoss(const ValueSequence& sequence, const ValueLossOptions& options,
                            const LossNormalizer& normalizer);

// Returns the share of the returns' variance that the values predict: 1 - Var(R - V) / Var(R) (Stable-Baselines3's
// explained_variance). 1: everything, 0: no more than a constant, below 0: less than a constant. Departure: 0, not NaN,
// where all returns are equal or there are none.
// Computed over the unmasked tokens of a batch, in the order of samples and positions. Sizes must be equal. Pure.
double ExplainedVariance(absl::Span<const double> values, absl::Span<const double> returns);

// Of the values and returns of a step, over the tokens that count.
struct ValueSummary {
  double explained_variance = 0, mean_value = 0, mean_return = 0;
  kernels::Moments advantages = {};  // before whitening
};

}  // namespace reprise::rl

#endif  // RL_VALUE_VALUE_LOSS_H_
