#ifndef RL_EPISODES_DRAW_PROBLEM_H_
#define RL_EPISODES_DRAW_PROBLEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/tasks/task.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/environment/environment.h"

namespace reprise::rl {

// Decides which problems are held out of training. A problem is its prompt, as the policy reads it
// (rl/episodes/prompt.h): all tasks with the same prompt are on the same side, wherever they come from and whatever
// their answers are, so that no prompt of an evaluation occurs in training.

// Returns the place of a prompt among all others: the first 53 bits of SHA-256 of the seed (8 bytes, least significant
// first) and the prompt, as a number in [0, 1). Pure.
double HeldOutPlace(uint64_t split_seed, absl::string_view prompt);

// Returns whether a drawn problem is held out: its place is below `share`.
inline bool IsHeldOut(uint64_t split_seed, double share, absl::string_view prompt) {
  return share > 0 && HeldOutPlace(split_seed, prompt) < share;
}

// Of P distinct prompts, the P - floor((1 - share) P) with the lowest places are held out; problems keep their order.
struct Split {
  std::vector<int64_t> training, held_out;  // indices of problems, ascending
};
Split SplitByPrompt(absl::Span<const std::string> prompt_of_problem, uint64_t split_seed, double share);

// Draws the problems of a run without a data file: the environment's own tasks, or else those of data.task.
class ProblemSource {
 public:
  // InvalidArgument for an unknown task or environment, and for options that the task does not support. The tokenizer
  // must outlive this.
  static absl::StatusOr<ProblemSource> Create(const Config& config, const models::Tokenizer& tokenizer);

  // Returns the problem of a place on the requested side of the split (IsHeldOut of PromptAsRead,
  // evaluation.held_out_share): the first of the place's attempts on that side. With a share of 0, returns the first
  // attempt, whatever its side. InvalidArgument when none of 2^16 attempts is on that side, as the task has too few
  // prompts to be split, or where a prompt has no tokens in this tokenizer. Pure.
  absl::StatusOr<data::Task> Draw(TaskPlace place, bool held_out) const;

  // Returns the place's attempt, whatever its side. Pure.
  data::Task At(const TaskPlace& place) const;

 private:
  ProblemSource(const Config& config, const models::Tokenizer& tokenizer, std::unique_ptr<Environment> environment,
                const data::TaskOptions& options)
      : config_(config), tokenizer_(&tokenizer), environment_(std::move(environment)), options_(options) {}

  absl::Status CannotSplit(bool held_out, size_t prompts) const;

  Config config_;
  const models::Tokenizer* tokenizer_;
  std::unique_ptr<Environment> environment_;  // may be null
  data::TaskOptions options_;
};

}  // namespace reprise::rl

#endif  // RL_EPISODES_DRAW_PROBLEM_H_
