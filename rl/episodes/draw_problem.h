#ifndef RL_EPISODES_DRAW_PROBLEM_H_
#define RL_EPISODES_DRAW_PROBLEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/tasks/task.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/environment/environment.h"
#include "rl/episodes/problem_form.h"

namespace reprise::rl {

// Decides which problems are held out of training, by their canonical forms (rl/episodes/problem_form.h): all problems
// of one form are on the same side, wherever they come from, so that what decides the answer to a problem of an
// evaluation does not occur in training.

// Returns the place of a form among all others: the first 53 bits of SHA-256 of the seed (8 bytes, least significant
// first) and the form, as a number in [0, 1). Pure.
double HeldOutPlace(uint64_t split_seed, absl::string_view form);

// Returns whether a drawn problem is held out: its place is below `share`.
inline bool IsHeldOut(uint64_t split_seed, double share, absl::string_view form) {
  return share > 0 && HeldOutPlace(split_seed, form) < share;
}

// Of P distinct forms, the P - floor((1 - share) P) with the lowest places are held out; problems keep their order.
struct Split {
  std::vector<int64_t> training, held_out;  // indices of problems, ascending
};
Split SplitByForm(absl::Span<const std::string> form_of_problem, uint64_t split_seed, double share);

// Draws the problems of a run without a data file: the environment's own tasks, or else those of data.task.
class ProblemSource {
 public:
  // InvalidArgument for an unknown task or environment, and for options that the task does not support. The tokenizer
  // must outlive this.
  static absl::StatusOr<ProblemSource> Create(const Config& config, const models::Tokenizer& tokenizer);

  // Returns the problem of a place on the requested side of the split (IsHeldOut of its form,
  // evaluation.held_out_share): the first of the place's attempts on that side. With a share of 0, returns the first
  // attempt, whatever its side. InvalidArgument when none of 2^16 attempts is on that side, as the task has too few
  // forms to be split, or where a prompt has no tokens in this tokenizer. Pure.
  absl::StatusOr<data::Task> Draw(TaskPlace place, bool held_out) const;

  // Returns the place's attempt, whatever its side. Pure.
  data::Task At(const TaskPlace& place) const;

  const ProblemForms& forms() const { return forms_; }

 private:
  ProblemSource(const Config& config, ProblemForms forms, std::unique_ptr<Environment> environment,
                const data::TaskOptions& options)
      : config_(config), forms_(std::move(forms)), environment_(std::move(environment)), options_(options) {}

  absl::Status CannotSplit(bool held_out, size_t forms) const;

  Config config_;
  ProblemForms forms_;
  std::unique_ptr<Environment> environment_;  // may be null
  data::TaskOptions options_;
};

}  // namespace reprise::rl

#endif  // RL_EPISODES_DRAW_PROBLEM_H_
