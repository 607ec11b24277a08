#ifndef RL_POLICY_ENCODER_TEXT_DECISIONS_H_
#define RL_POLICY_ENCODER_TEXT_DECISIONS_H_

// Decisions that are chosen by texts, and the distinct texts among those of a shard: each is encoded once, however many
// decisions read it.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "kernels/contract/operands.h"
#include "models/lora/dropout.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

// The content of an episode (EpisodeRecord::content) of T decisions.
struct TextDecisions {
  // The tokens of the state before each decision, at least one. A truncated episode has one more, of the state after
  // its last decision, where a value function continues its returns.
  std::vector<std::vector<int32_t>> token_TS;
  std::vector<int32_t> action_T;  // the chosen actions, counted from 0
};

// Returns the episode's content. Another type of content, another number of actions than decisions, and too few texts
// are failed checks.
const TextDecisions& TextDecisionsIn(const EpisodeRecord& episode);

// Returns the number of states of the episode that passes read: one before each decision, and with after_truncation one
// more of a truncated episode.
inline size_t CountStates(const EpisodeRecord& episode, bool after_truncation) {
  return static_cast<size_t>(episode.decisions.count + (after_truncation && !episode.terminated ? 1 : 0));
}

// When inputs of adapters are dropped: equal texts of a step have the same masks, wherever they occur.
struct TextDropout {
  uint64_t seed = 0;  // of the run
  uint64_t step = 0;
  bool in_sft = false;
};

// Returns the place from which the masks of a text follow: a function of its tokens and of the step. Pure.
models::DropoutPlace PlaceOfText(const TextDropout& dropout, absl::Span<const int32_t> text);

// Distinct texts, in order of first appearance, and which of them each decision reads.
class UniqueTexts {
 public:
  UniqueTexts() = default;
  // Those of the shard's decisions: episodes in order, decisions in order. after_truncation: a truncated episode has
  // one state more.
  explicit UniqueTexts(const ShardInput& shard, bool after_truncation = false);

  // Says where inputs of adapters are dropped; nothing: nowhere, as without adapters.
  void DropAt(const std::optional<TextDropout>& dropout) { dropout_ = dropout; }
  const std::optional<TextDropout>& dropout() const { return dropout_; }

  // Appends a decision by a text, which must outlive this.
  void Add(absl::Span<const int32_t> text);

  int64_t texts() const { return static_cast<int64_t>(text_U_.size()); }
  int64_t decisions() const { return static_cast<int64_t>(text_R_.size()); }
  int64_t tokens() const { return tokens_; }                                 // of all distinct texts
  int64_t tokens_read() const { return tokens_read_; }                       // of the texts of all decisions
  int64_t decisions_by(int64_t index) const { return decisions_U_[index]; }  // that read the text
  absl::Span<const int32_t> text(int64_t index) const { return text_U_[index]; }
  absl::Span<const int32_t> text_of_decision() const { return text_R_; }

  // Returns ranges of texts, in order, of at most max_rows tokens each; a longer text is a range of its own. max_rows
  // 0: all are one range.
  std::vector<kernels::Range> MicroBatches(int64_t max_rows) const;

 private:
  std::vector<absl::Span<const int32_t>> text_U_;
  std::vector<int64_t> decisions_U_;
  std::vector<int32_t> text_R_;  // by decision
  std::map<absl::Span<const int32_t>, int32_t> index_of_;
  int64_t tokens_ = 0, tokens_read_ = 0;
  std::optional<TextDropout> dropout_;
};

}  // namespace reprise::rl

#endif  // RL_POLICY_ENCODER_TEXT_DECISIONS_H_
