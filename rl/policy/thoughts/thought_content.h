#ifndef RL_POLICY_THOUGHTS_THOUGHT_CONTENT_H_
#define RL_POLICY_THOUGHTS_THOUGHT_CONTENT_H_

// What tasks and episodes consist of where a model thinks between the tokens of a text. A group is a text with the
// thoughts of all samples: an episode has one sample's thoughts, one at each position, and its decisions are the
// thoughts' tokens, in order; a turn is a thought. Delimiters are no decisions.
//
// In the warm-up an episode has no thoughts. Its decisions are the text's tokens from the second one on, of which the
// learned ones are Decisions::drawn_T.

#include <cstdint>
#include <vector>

#include "models/quiet_star/thought.h"
#include "rl/record/episode_record.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// The content of a TaskRecord.
struct ThoughtfulTask {
  std::vector<int32_t> tokens;     // of the text, at least two
  std::vector<int64_t> positions;  // after which the policy thinks, ascending, below tokens - 1; none in the warm-up
  int64_t answer_begin = 1;        // the first token of the answer, which ends the text; 0 < answer_begin < tokens

  bool operator==(const ThoughtfulTask&) const = default;
};

// The content of an EpisodeRecord.
struct ThoughtEpisode {
  std::vector<models::Thought> thoughts;  // at the task's positions; none in the warm-up

  bool operator==(const ThoughtEpisode&) const = default;
};

// Return the content of a record. The content of another workload is a failed check.
const ThoughtfulTask& ThoughtfulTaskOf(const TaskRecord& task);
const ThoughtEpisode& ThoughtsOf(const EpisodeRecord& episode);

// Returns the decisions that follow from the thoughts: each token is drawn and learned, and its turn is its thought.
Decisions DecisionsOfThoughts(const std::vector<models::Thought>& thoughts);

}  // namespace reprise::rl

#endif  // RL_POLICY_THOUGHTS_THOUGHT_CONTENT_H_
