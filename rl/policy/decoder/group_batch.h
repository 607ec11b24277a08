#ifndef RL_POLICY_DECODER_GROUP_BATCH_H_
#define RL_POLICY_DECODER_GROUP_BATCH_H_

// Packs groups for the decoder: their rows, what each row attends to and which tokens it predicts.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "models/decoder/batch.h"
#include "models/decoder/scoring.h"
#include "rl/policy/decoder/micro_batches.h"

namespace reprise::rl {

// A prompt and the completions sampled from it. Views: the tokens must outlive the call.
struct TrainingGroup {
  absl::Span<const int32_t> prompt;                     // at least one token
  std::vector<absl::Span<const int32_t>> completion_G;  // at least one token each
};

// Returns the numbers of rows that the group computes.
GroupRows RowsOf(const TrainingGroup& group);

// Appends the rows of completions [begin, end), one segment each with the given prefix (a completion of one token has
// no row: the prompt's last row predicts it), and the tokens that they predict.
void AppendCompletions(const TrainingGroup& group, int64_t begin, int64_t end, int64_t prefix,
                       models::PackedBatch* batch, models::ScoredRows* scored);

// Appends the prompt's segment; its last row predicts the first token of every completion.
void AppendPrompt(const TrainingGroup& group, models::PackedBatch* batch, models::ScoredRows* scored);

// Appends a whole group: all completions, then the prompt, their prefix.
void AppendGroup(const TrainingGroup& group, models::PackedBatch* batch, models::ScoredRows* scored);

}  // namespace reprise::rl

#endif  // RL_POLICY_DECODER_GROUP_BATCH_H_
