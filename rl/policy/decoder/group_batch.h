#ifndef RL_POLICY_DECODER_GROUP_BATCH_H_
#define RL_POLICY_DECODER_GROUP_BATCH_H_

// Packs groups for the decoder: their rows, what each row attends to and which tokens it predicts.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "models/decoder/batch.h"
#include "models/decoder/scoring.h"
#include "models/lora/dropout.h"

namespace reprise::rl {

// Cuts a shard's groups into batches of bounded size. The places of the cuts change memory and speed, never a bit.

// Numbers of rows that a group computes: its prompt's, once, and each completion's (all its tokens except the last,
// which nothing follows).
struct GroupRows {
  int64_t prompt = 0;
  std::vector<int64_t> completion_G;
};

// Either whole groups [group_begin, group_end), or, when `cut`, the completions [completion_begin, completion_end) of
// the one group group_begin: its prompt then runs alone: forward before the group's first piece, backward after its
// last piece.
struct MicroBatch {
  int64_t group_begin = 0, group_end = 0;
  bool cut = false;
  int64_t completion_begin = 0, completion_end = 0;

  bool operator==(const MicroBatch&) const = default;
};

// Returns batches of at most max_rows rows (0: no limit), in canonical order. A group that does not fit is cut between
// completions; a completion longer than max_rows is a batch of its own.
std::vector<MicroBatch> PlanMicroBatches(const std::vector<GroupRows>& groups, int64_t max_rows);

// A prompt and the completions sampled from it. Views: the tokens must outlive the call.
struct TrainingGroup {
  absl::Span<const int32_t> prompt;                     // at least one token
  std::vector<absl::Span<const int32_t>> completion_G;  // at least one token each
  // Where the inputs of adapters are dropped: the group's place in the run, and the samples that its completions are.
  std::optional<models::DropoutPlace> dropout = std::nullopt;
  std::vector<uint64_t> sample_G = {};
};

// Returns the numbers of rows that the group computes.
GroupRows MakeGroupRows(const TrainingGroup& group);

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
