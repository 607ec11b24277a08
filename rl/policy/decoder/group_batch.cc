#include "rl/policy/decoder/group_batch.h"

#include <algorithm>
#include <cstddef>

#include "core/status/check.h"

namespace reprise::rl {
namespace {

int64_t TotalRows(const GroupRows& group) {
  int64_t rows = group.prompt;
  for (int64_t completion : group.completion_G) rows += completion;
  return rows;
}

void CutGroup(const GroupRows& group, int64_t index, int64_t max_rows, std::vector<MicroBatch>& plan) {
  const int64_t completions = static_cast<int64_t>(group.completion_G.size());
  for (int64_t begin = 0; begin < completions;) {
    int64_t end = begin + 1, rows = group.completion_G[begin];
    while (end < completions && rows + group.completion_G[end] <= max_rows) {
      rows += group.completion_G[end++];
    }
    plan.push_back({index, index + 1, true, begin, end});
    begin = end;
  }
}

using models::PackedBatch;
using models::ScoredRows;

void AppendSegment(absl::Span<const int32_t> tokens, int64_t first_position, int64_t prefix,
                   const std::optional<models::DropoutPlace>& dropout, PackedBatch* batch) {
  batch->segments.push_back({batch->rows(), static_cast<int64_t>(tokens.size()), prefix});
  for (size_t i = 0; i < tokens.size(); ++i) {
    batch->token_T.push_back(tokens[i]);
    batch->position_T.push_back(static_cast<int32_t>(first_position) + static_cast<int32_t>(i));
    if (dropout) batch->dropout_T.push_back(models::DropoutSeedOf(*dropout, batch->position_T.back()));
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
    int64_t rows = TotalRows(groups[begin]);
    if (rows > max_rows && groups[begin].completion_G.size() > 1) {
      CutGroup(groups[begin], begin, max_rows, plan);
      ++begin;
      continue;
    }
    int64_t end = begin + 1;
    while (end < count && rows + TotalRows(groups[end]) <= max_rows) {
      rows += TotalRows(groups[end++]);
    }
    plan.push_back({begin, end});
    begin = end;
  }
  return plan;
}

GroupRows MakeGroupRows(const TrainingGroup& group) {
  CHECK(!group.prompt.empty());
  GroupRows rows = {static_cast<int64_t>(group.prompt.size()), {}};
  for (const auto& completion : group.completion_G) {
    CHECK(!completion.empty());
    rows.completion_G.push_back(static_cast<int64_t>(completion.size()) - 1);
  }
  return rows;
}

void AppendCompletions(const TrainingGroup& group, int64_t begin, int64_t end, int64_t prefix, PackedBatch* batch,
                       ScoredRows* scored) {
  for (int64_t g = begin; g < end; ++g) {
    const absl::Span<const int32_t> tokens = group.completion_G[g];
    if (tokens.size() == 1) continue;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      scored->Add(batch->rows() + static_cast<int64_t>(i), &tokens[i + 1], 1);
    }
    std::optional<models::DropoutPlace> dropout = group.dropout;
    if (dropout) dropout->sample = group.sample_G[g];
    AppendSegment(tokens.first(tokens.size() - 1), static_cast<int64_t>(group.prompt.size()), prefix, dropout, batch);
  }
}

void AppendPrompt(const TrainingGroup& group, PackedBatch* batch, ScoredRows* scored) {
  std::vector<int32_t> first_tokens;
  for (const auto& completion : group.completion_G) first_tokens.push_back(completion[0]);
  scored->Add(batch->rows() + static_cast<int64_t>(group.prompt.size()) - 1, first_tokens.data(),
              static_cast<int64_t>(first_tokens.size()));
  std::optional<models::DropoutPlace> dropout = group.dropout;
  if (dropout) dropout->in_prompt = true;
  AppendSegment(group.prompt, 0, models::kNoPrefix, dropout, batch);
}

void AppendGroup(const TrainingGroup& group, PackedBatch* batch, ScoredRows* scored) {
  const int64_t later = std::count_if(group.completion_G.begin(), group.completion_G.end(),
                                      [](const auto& completion) { return completion.size() > 1; });
  const int64_t prompt_segment = static_cast<int64_t>(batch->segments.size()) + later;
  AppendCompletions(group, 0, static_cast<int64_t>(group.completion_G.size()), prompt_segment, batch, scored);
  AppendPrompt(group, batch, scored);
}

}  // namespace reprise::rl
