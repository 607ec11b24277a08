#ifndef RL_LOSS_AGGREGATION_H_
#define RL_LOSS_AGGREGATION_H_

// How a minibatch's loss weighs the sum of its tokens' terms; n_i: tokens of sequence i. The first five are as TRL's
// loss types of these names:
//   grpo            mean over sequences of the mean over tokens:  1 / (sequences n_i)
//   bnpo            mean over the minibatch's tokens:             1 / tokens
//   dapo            the same with the mean token count of the minibatches of one sampled batch
//   dr_grpo         a constant:                                   1 / (sequences max_completion_length)
//   luspo           mean over sequences of the sum over tokens:   1 / sequences
//   sum             nothing:                                      1                      (verl's token-sum)
//   sequence_mean   as grpo over sequences that have any token    (verl's seq-mean-token-mean)
//   turn_mean       mean over sequences of the mean over turns of the mean over the turn's tokens
// Of the loss types, sapo is weighted as grpo, cispo and vespo as dapo; rloo has one term per sequence, spread evenly
// over its tokens: the weight of grpo. Departure: TRL's bnpo divides by the tokens of the micro-batch; here no result
// may depend on the micro-batch, so that it divides by the tokens of the minibatch.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/loss/options.h"

namespace reprise::rl {

// Counts over all sequences of one optimizer step, on all ranks.
struct LossNormalizer {
  double num_sequences = 1.0;
  double num_tokens = 1.0;  // of this minibatch
  // Tokens of all sequences of the sampled batch, divided by the number of minibatches into which it is split:
  // num_tokens where one optimizer step uses them all.
  double mean_num_tokens = 1.0;
  double num_nonempty_sequences = 1.0;  // of num_sequences: with an unmasked token; read by sequence_mean
};

struct SequenceSize {
  int64_t num_tokens = 0;  // unmasked; 0 where a filter masks them all
  double weight = 1.0;     // Sequence::weight; 0: the sequence is not counted
};

// Counts over the sequences of one minibatch, on all ranks; `sampled_tokens`: of all sequences of the sampled batch
// with a weight, which is split into num_minibatches minibatches. Pure; integers, so that the order does not matter.
LossNormalizer MakeNormalizer(absl::Span<const SequenceSize> minibatch_N, double sampled_tokens,
                              int64_t num_minibatches);

// Returns the factor of each of the n_i = sequence_tokens terms of a sequence; 0 tokens are treated as 1.
double TokenWeight(const LossOptions& options, const LossNormalizer& normalizer, int64_t sequence_tokens);

// Returns the factors of the tokens' weights for turn_mean: tokens / (turns tokens of its turn), over unmasked tokens
// and turns that have any. 0 at masked tokens.
std::vector<double> TurnFactors(absl::Span<const int32_t> turn_T, absl::Span<const uint8_t> mask_T);

}  // namespace reprise::rl

#endif  // RL_LOSS_AGGREGATION_H_
