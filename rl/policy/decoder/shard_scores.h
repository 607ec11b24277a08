#ifndef RL_POLICY_DECODER_SHARD_SCORES_H_
#define RL_POLICY_DECODER_SHARD_SCORES_H_

// Computes with a forward pass alone the log-probabilities of a logical shard's completions, and the experts chosen.
// Deterministic; max_rows limits a batch and changes no bit.

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "rl/policy/decoder/shard_forward.h"

namespace reprise::rl {

// Receives the log-probabilities and entropies of one completion, one per token.
using CompletionScores = std::function<void(int64_t group, int64_t completion, absl::Span<const float> logprob_T,
                                            absl::Span<const float> entropy_T)>;

// Calls `receive` for every completion, in order: with the bits that AccumulateShard's loss sees for the same weights
// and temperature. The decoder needs no training copies of its weights.
void ScoreShard(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups, int64_t max_rows,
                float temperature, const CompletionScores& receive, ShardWorkspace* workspace);

// Receives the logits before one token of a completion, not yet divided by the temperature; it may overwrite them.
using TokenLogits = std::function<void(int64_t group, int64_t completion, int64_t token, absl::Span<float> logits)>;

// Calls `receive` for every token of every completion, in order: with the bits of the logits that sampling draws from.
void ShowShardLogits(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups, int64_t max_rows,
                     const TokenLogits& receive, ShardWorkspace* workspace);

// Receives the values of one completion, one per token: of the state before it.
using CompletionValues = std::function<void(int64_t group, int64_t completion, absl::Span<const float> value_T)>;

// Calls `receive` for every completion, in order, with the values of a value head on the decoder's hidden states.
void EvaluateShard(const models::Decoder& decoder, const models::ValueHead& head,
                   const std::vector<TrainingGroup>& groups, int64_t max_rows, const CompletionValues& receive,
                   ShardWorkspace* workspace);

// Returns how often each expert is chosen over all layers and rows of the groups, which the load-balancing loss needs
// where sampling did not count it.
std::vector<int64_t> CountShardExperts(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups,
                                       int64_t max_rows, ShardWorkspace* workspace);

}  // namespace reprise::rl

#endif  // RL_POLICY_DECODER_SHARD_SCORES_H_
