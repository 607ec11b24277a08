#ifndef RL_POLICY_THOUGHTS_THOUGHT_EPISODES_H_
#define RL_POLICY_THOUGHTS_THOUGHT_EPISODES_H_

// Episodes of a policy that thinks. A task is a text; its group's episodes are samples 0 .. G - 1 of the thoughts about
// it: episode g has one thought at each thinking position, and its decisions are their tokens, position by position.
// The turn of a decision is the number of its thought within the episode.
//
// In supervised fine-tuning, an episode may have no thoughts: then its decisions are the text's tokens 1 .. S - 1, as
// the model predicts them without thinking.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "models/quiet_star/thought.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

// The content of a task (TaskRecord::content).
struct TextToThinkAbout {
  std::vector<int32_t> token_S;  // at least two
  // 1 where the token counts in the text's own losses and metrics; token 0 never does. Empty: all others do.
  std::vector<uint8_t> counts_S = {};

  bool Counts(int64_t token) const { return counts_S.empty() || counts_S[token] != 0; }
};

// The content of an episode (EpisodeRecord::content).
struct ThoughtsOfSample {
  std::vector<models::Thought> thought_P = {};  // by position, ascending, at most one at each
  bool predicts_text = false;  // of an SFT phase: the decisions are the text's tokens, and there is no thought
};

// Return the contents. Other types, and other numbers of decisions than the content has, are failed checks.
const TextToThinkAbout& TextIn(const TaskRecord& task);
const ThoughtsOfSample& ThoughtsIn(const EpisodeRecord& episode, const TextToThinkAbout& text);

// Returns the number of decisions, and the turn of each, of an episode with this content.
Decisions MakeDecisions(const ThoughtsOfSample& thoughts, const TextToThinkAbout& text);

// A group as models/quiet_star's passes see it: the thoughts of all of its episodes, by position, then by episode.
class ThoughtGroup {
 public:
  explicit ThoughtGroup(const EpisodeGroup& group);

  const EpisodeGroup& group() const { return *group_; }
  const TextToThinkAbout& text() const { return *text_; }
  models::ThoughtfulText view() const {
    return {text_->token_S, thoughts_, static_cast<uint64_t>(group_->task->prompt)};
  }
  size_t episodes() const { return group_->episode_G.size(); }
  bool predicts_text() const { return predicts_text_; }  // of all of its episodes, or of none (checked)

  // Returns the numbers of the decisions of episode g, from those of all tokens of thoughts in the pass's order; and
  // from numbers by thinking position of the group, each decision's.
  std::vector<float> OfEpisode(size_t g, absl::Span<const float> number_T) const;
  std::vector<float> OfPositions(size_t g, absl::Span<const float> number_M) const;
  // The other way: writes the numbers of episode g's decisions to their places; adds them to their positions' numbers.
  void ToPass(size_t g, absl::Span<const float> number, absl::Span<float> number_T) const;
  void AddToPositions(size_t g, absl::Span<const float> number, absl::Span<float> number_M) const;

 private:
  struct Place {
    size_t first_token = 0, tokens = 0;  // within those of all thoughts
    size_t position = 0;                 // which thinking position of the group
  };

  const EpisodeGroup* group_;
  const TextToThinkAbout* text_;
  std::vector<models::Thought> thoughts_;
  std::vector<std::vector<Place>> place_GP_;  // of the thoughts of each episode
  bool predicts_text_ = false;
};

}  // namespace reprise::rl

#endif  // RL_POLICY_THOUGHTS_THOUGHT_EPISODES_H_
