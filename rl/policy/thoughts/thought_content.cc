#include "rl/policy/thoughts/thought_content.h"

#include <any>

#include "core/status/check.h"

namespace reprise::rl {

const ThoughtfulTask& ThoughtfulTaskOf(const TaskRecord& task) {
  const auto* const content = std::any_cast<ThoughtfulTask>(&task.content);
  CHECK(content != nullptr);
  return *content;
}

const ThoughtEpisode& ThoughtsOf(const EpisodeRecord& episode) {
  const auto* const content = std::any_cast<ThoughtEpisode>(&episode.content);
  CHECK(content != nullptr);
  return *content;
}

Decisions DecisionsOfThoughts(const std::vector<models::Thought>& thoughts) {
  Decisions decisions;
  decisions.turns = static_cast<int64_t>(thoughts.size());
  for (size_t turn = 0; turn < thoughts.size(); ++turn) {
    decisions.turn_T.insert(decisions.turn_T.end(), thoughts[turn].tokens.size(), static_cast<int32_t>(turn));
  }
  decisions.count = static_cast<int64_t>(decisions.turn_T.size());
  return decisions;
}

}  // namespace reprise::rl
