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
Content& MutableContentOf(std::any& any) {
  if (!any.has_value()) return any.emplace<Content>();
  Content* const content = std::any_cast<Content>(&any);
  CHECK(content != nullptr);
  return *content;
}

}  // namespace

const CompletionEpisode& CompletionOf(const EpisodeRecord& episode) {
  return ContentOf<CompletionEpisode>(episode.content);
}

CompletionEpisode& CompletionOf(EpisodeRecord& episode) { return MutableContentOf<CompletionEpisode>(episode.content); }

const CompletionTask& CompletionOf(const TaskRecord& task) { return ContentOf<CompletionTask>(task.content); }

CompletionTask& CompletionOf(TaskRecord& task) { return MutableContentOf<CompletionTask>(task.content); }

const std::vector<EvaluationReply>& EvaluationRepliesOf(const StepRecord& step) {
  static const std::vector<EvaluationReply> kNone;
  return step.content.has_value() ? ContentOf<std::vector<EvaluationReply>>(step.content) : kNone;
}

std::vector<EvaluationReply>& EvaluationRepliesOf(StepRecord& step) {
  return MutableContentOf<std::vector<EvaluationReply>>(step.content);
}

TaskRecord CompletionTaskRecord(int64_t prompt, CompletionTask task) {
  return {.prompt = prompt, .content = std::move(task)};
}

}  // namespace reprise::rl
