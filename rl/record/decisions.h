#ifndef RL_RECORD_DECISIONS_H_
#define RL_RECORD_DECISIONS_H_

// What the mathematics sees of an episode's content: positions, at each of which the policy decides or only observes.
// A token is one position.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace reprise::rl {

struct Decisions {
  int64_t count = 0;  // T: the number of positions
  int64_t turns = 1;
  std::vector<uint8_t> drawn_T = {};    // 1 where the policy decides, 0 where it observes; empty: it decides everywhere
  std::vector<uint8_t> learned_T = {};  // the loss's mask: 1 where a decision is learned; empty: everywhere
  std::vector<int32_t> turn_T = {};     // the turn of each position; empty: there is one turn
};

// Returns the number of positions at which the policy decides.
int64_t NumDrawn(const Decisions& decisions);

// Returns the number of learned decisions.
int64_t NumLearned(const Decisions& decisions);

// Returns value_T with 0 where the policy observes.
std::vector<float> OnDrawn(const Decisions& decisions, absl::Span<const float> value_T);

}  // namespace reprise::rl

#endif  // RL_RECORD_DECISIONS_H_
