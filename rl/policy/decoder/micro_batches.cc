#include "rl/policy/decoder/micro_batches.h"

#include <cstddef>

namespace reprise::rl {
namespace {

int64_t RowsOf(const GroupRows& group) {
  int64_t rows = group.prompt;
  for (int64_t completion : group.completion_G) rows += completion;
  return rows;
}

void CutGroup(const GroupRows& group, int64_t index, int64_t max_rows, std::vector<MicroBatch>& plan) {
  const int64_t completions = static_cast<int64_t>(group.completion_G.size());
  for (int64_t begin = 0; begin < completions;) {
    int64_t end = begin + 1, rows = group.completion_G[static_cast<size_t>(begin)];
    while (end < completions && rows + group.completion_G[static_cast<size_t>(end)] <= max_rows) {
      rows += group.completion_G[static_cast<size_t>(end++)];
    }
    plan.push_back({index, index + 1, true, begin, end});
    begin = end;
  }
}

}  // namespace

std::vector<MicroBatch> PlanMicroBatches(const std::vector<GroupRows>& groups, int64_t max_rows) {
  std::vector<MicroBatch> plan;
  const int64_t count = static_cast<int64_t>(groups.size());
  if (max_rows == 0) {
    if (count > 0) plan.push_back({0, count});
    return plan;
  }
  for (int64_t begin = 0; begin < count;) {
    int64_t rows = RowsOf(groups[static_cast<size_t>(begin)]);
    if (rows > max_rows && groups[static_cast<size_t>(begin)].completion_G.size() > 1) {
      CutGroup(groups[static_cast<size_t>(begin)], begin, max_rows, plan);
      ++begin;
      continue;
    }
    int64_t end = begin + 1;
    while (end < count && rows + RowsOf(groups[static_cast<size_t>(end)]) <= max_rows) {
      rows += RowsOf(groups[static_cast<size_t>(end++)]);
    }
    plan.push_back({begin, end});
    begin = end;
  }
  return plan;
}

}  // namespace reprise::rl
