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

TaskRecord CompletionTaskRecord(int64_t prompt, CompletionTask task) {
  return {.prompt = prompt, .content = std::move(task)};
}

}  // namespace reprise::rl
