#ifndef RL_POLICY_DECODER_MICRO_BATCHES_H_
#define RL_POLICY_DECODER_MICRO_BATCHES_H_

// Cuts a shard's groups into batches of bounded size. The places of the cuts change memory and speed, never a bit.

#include <cstdint>
#include <vector>

namespace reprise::rl {

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

}  // namespace reprise::rl

#endif  // RL_POLICY_DECODER_MICRO_BATCHES_H_
