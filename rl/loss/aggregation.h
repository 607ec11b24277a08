#ifndef RL_LOSS_AGGREGATION_H_
#define RL_LOSS_AGGREGATION_H_

// What a minibatch's loss divides the sum of its tokens' terms by; n_i: tokens of sequence i. The first five as TRL's
// loss types of these names have it:
//   grpo            mean over sequences of the mean over tokens:  1 / (sequences n_i)
//   bnpo            mean over the minibatch's tokens:             1 / tokens
//   dapo            the same with the mean number of tokens of the minibatches that were sampled together
//   dr_grpo         a constant:                                   1 / (sequences max_completion_length)
//   luspo           mean over sequences of the sum over tokens:   1 / sequences
//   sum             nothing:                                      1                      (verl's token-sum)
//   sequence_mean   as grpo over sequences that have any token    (verl's seq-mean-token-mean)
//   turn_mean       mean over sequences of the mean over turns of the mean over the turn's tokens
// Of the loss types sapo divides as grpo, cispo and vespo as dapo; rloo has one term a sequence, spread evenly over its
// tokens: the weight of grpo. Departure: TRL's bnpo divides by the tokens of the micro-batch; here a micro-batch is
// nothing that a result may depend on, and the minibatch takes its place.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/loss/options.h"

namespace reprise::rl {

// Counts over everything that one optimizer step learns from, on all ranks.
struct LossNormalizer {
  double num_sequences = 1.0;
  double num_tokens = 1.0;  // of this minibatch
  // Tokens of all sequences that were sampled together, divided by the number of minibatches that they are dealt to:
  // num_tokens where one optimizer step uses them all.
  double mean_num_tokens = 1.0;
  double num_nonempty_sequences = 1.0;  // of num_sequences: with a token that counts; read by sequence_mean
};

struct SequenceSize {
  int64_t num_tokens = 0;  // that count: none where a filter masks them all
  double weight = 1.0;     // Sequence::weight; 0: the sequence counts nowhere
};

// Over the sequences of one minibatch, on all ranks; `sampled_tokens`: of all sequences with a weight that were sampled
// together with them and dealt to num_minibatches minibatches. Pure; integers, so that no order matters.
LossNormalizer NormalizerOf(absl::Span<const SequenceSize> minibatch_N, double sampled_tokens, int64_t num_minibatches);

// The factor of each of the n_i = sequence_tokens terms of a sequence; sequences without tokens count as one token.
double TokenWeight(const LossOptions& options, const LossNormalizer& normalizer, int64_t sequence_tokens);

// What a token's weight is multiplied by for turn_mean: tokens / (turns tokens of its turn), over tokens that count and
// turns that have any. 0 at masked tokens.
std::vector<double> TurnFactors(absl::Span<const int32_t> turn_T, absl::Span<const uint8_t> mask_T);

}  // namespace reprise::rl

#endif  // RL_LOSS_AGGREGATION_H_
