#ifndef RL_LOSS_AGGREGATION_H_
#define RL_LOSS_AGGREGATION_H_

// What a minibatch's loss divides the sum of its tokens' terms by, as in TRL; n_i: tokens of sequence i.
//   grpo, sapo            mean over sequences of the mean over tokens:  1 / (sequences n_i)
//   rloo                  mean over sequences of one term a sequence, spread evenly over its tokens: the same weight
//   bnpo                  mean over the minibatch's tokens:             1 / tokens
//   dapo, cispo, vespo    the same with the mean number of tokens of the minibatches that were sampled together
//   dr_grpo               a constant:                                   1 / (sequences max_completion_length)
//   luspo                 mean over sequences of the sum over tokens:   1 / sequences
// Departure: TRL's bnpo divides by the tokens of the micro-batch; here a micro-batch is nothing that a result may
// depend on, and the minibatch takes its place.

#include <cstdint>

#include "rl/loss/options.h"

namespace reprise::rl {

// Counts over everything that one optimizer step learns from, on all ranks.
struct LossNormalizer {
  double num_sequences = 1.0;
  double num_tokens = 1.0;  // of this minibatch
  // Tokens of all sequences that were sampled together, divided by the number of minibatches that they are dealt to:
  // num_tokens where one optimizer step uses them all.
  double mean_num_tokens = 1.0;
};

// The factor of each of the n_i = sequence_tokens terms of a sequence; sequences without tokens count as one token.
double TokenWeight(const LossOptions& options, const LossNormalizer& normalizer, int64_t sequence_tokens);

}  // namespace reprise::rl

#endif  // RL_LOSS_AGGREGATION_H_
