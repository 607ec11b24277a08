#include "rl/record/completions/completion_record.h"

#include <any>
#include <utility>

#include "core/status/check.h"

namespace reprise::rl {
namespace {

template <typename Content>
const Content& ContentOf(const std::any& any) {
  const Content* const content = std::any_cast<Content>(&any);
  CHECK(content != nullptr);
  return *content;
}

template <typename Content>
Content& GetMutableContent(std::any& any) {
  if (!any.has_value()) return any.emplace<Content>();
  Content* const content = std::any_cast<Content>(&any);
  CHECK(content != nullptr);
  return *content;
}

}  // namespace

const CompletionEpisode& CompletionOf(const EpisodeRecord& episode) {
  return ContentOf<CompletionEpisode>(episode.content);
}

CompletionEpisode& CompletionOf(EpisodeRecord& episode) {
  return GetMutableContent<CompletionEpisode>(episode.content);
}

const CompletionTask& CompletionOf(const TaskRecord& task) { return ContentOf<CompletionTask>(task.content); }

CompletionTask& CompletionOf(TaskRecord& task) { return GetMutableContent<CompletionTask>(task.content); }

const std::vector<EvaluationReply>& GetEvaluationReplies(const StepRecord& step) {
  static const std::vector<EvaluationReply> kNone;
  return step.content.has_value() ? ContentOf<std::vector<EvaluationReply>>(step.content) : kNone;
}

std::vector<EvaluationReply>& GetEvaluationReplies(StepRecord& step) {
  return GetMutableContent<std::vector<EvaluationReply>>(step.content);
}

TaskRecord CompletionTaskRecord(int64_t prompt, CompletionTask task) {
  return {.prompt = prompt, .content = std::move(task)};
}

}  // namespace reprise::rl
