#ifndef RL_EVALUATION_HELD_OUT_H_
#define RL_EVALUATION_HELD_OUT_H_

// Which problems are kept from training. A problem is its prompt: all tasks with the same prompt are on the same side,
// wherever they come from, so that nothing that is evaluated has been trained on.

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/tasks/task.h"

namespace reprise::rl {

// Where a prompt stands among all others: the first 53 bits of SHA-256 of the seed (8 bytes, least significant first)
// and the prompt, as a number in [0, 1). Pure.
double HeldOutPlace(uint64_t split_seed, absl::string_view prompt);

// Whether a drawn problem is held out: its place is below `share`.
inline bool IsHeldOut(uint64_t split_seed, double share, absl::string_view prompt) {
  return share > 0 && HeldOutPlace(split_seed, prompt) < share;
}

// Of P different prompts the P - floor((1 - share) P) with the lowest places are held out; tasks stay in order.
struct Split {
  std::vector<int64_t> training, held_out;  // indices of tasks, ascending
};
Split SplitByPrompt(const std::vector<data::Task>& tasks, uint64_t split_seed, double share);

}  // namespace reprise::rl

#endif  // RL_EVALUATION_HELD_OUT_H_
