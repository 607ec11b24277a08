#ifndef RL_POLICY_MICRO_BATCHES_H_
#define RL_POLICY_MICRO_BATCHES_H_

// Cuts a shard's groups into batches of bounded size. Where the cuts fall changes memory and speed and never a bit.

#include <cstdint>
#include <vector>

namespace reprise::rl {

// Rows that a group computes: its prompt's, once, and each completion's (its tokens but the last, which nothing
// follows).
struct GroupRows {
  int64_t prompt = 0;
  std::vector<int64_t> completion_G;
};

// Either whole groups [group_begin, group_end), or, when `cut`, the completions [completion_begin, completion_end) of
// the one group group_begin: its prompt then runs by itself, before its first and backward after its last piece.
struct MicroBatch {
  int64_t group_begin = 0, group_end = 0;
  bool cut = false;
  int64_t completion_begin = 0, completion_end = 0;

  bool operator==(const MicroBatch&) const = default;
};

// Batches of at most max_rows rows (0: no bound), in canonical order. A group that does not fit is cut between
// completions; a completion longer than the bound is a batch of its own.
std::vector<MicroBatch> PlanMicroBatches(const std::vector<GroupRows>& groups, int64_t max_rows);

}  // namespace reprise::rl

#endif  // RL_POLICY_MICRO_BATCHES_H_
