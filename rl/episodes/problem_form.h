#ifndef RL_EPISODES_PROBLEM_FORM_H_
#define RL_EPISODES_PROBLEM_FORM_H_

// Problems are held out of training by what decides their answers: a problem's canonical form, which its task or
// environment declares (data::CanonicalProblem, Environment::CanonicalProblem). Without a declaration, and for the
// problems of a file, it is the whole prompt.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/tasks/task.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/environment/environment.h"

namespace reprise::rl {

class ProblemForms {
 public:
  // InvalidArgument for an unknown task or environment. The tokenizer must outlive this.
  static absl::StatusOr<ProblemForms> Create(const Config& config, const models::Tokenizer& tokenizer);

  // Returns the canonical form of the prompt as the policy reads it (PromptAsRead), so that prompts which truncation
  // makes equal have the same. Pure. Errors as Tokenizer::Encode.
  absl::StatusOr<std::string> FormFor(absl::string_view prompt) const;

  // The same for a prompt that has been truncated already, perhaps by another configuration: `read` is what the policy
  // of that one reads. Pure.
  std::string FormOfRead(const std::string& read) const;

  // Returns whether it is certain that the configuration draws no problem that its policy reads as `read`: another
  // task, or other lengths or letters. False where that is not known: of environments that make their own problems, of
  // files, where prompts are truncated, and for a text that the tokenizer reads in another form. Pure.
  bool IsNeverDrawn(absl::string_view read) const;

 private:
  ProblemForms(const RolloutConfig& rollout, const models::Tokenizer& tokenizer)
      : rollout_(rollout), tokenizer_(&tokenizer) {}

  RolloutConfig rollout_;
  const models::Tokenizer* tokenizer_;
  std::unique_ptr<Environment> environment_;  // of one that makes its own tasks; else null
  data::TaskOptions options_;
  bool is_generated_ = false;  // by that task
};

// Returns the options of data.task. InvalidArgument, naming the key, for values that it does not have.
absl::StatusOr<data::TaskOptions> TaskOptionsFrom(const DataConfig& config);

// Returns a warning where the problems that are held out of drawn ones are so few that an evaluation of them says
// little about others; empty: none. `different`: how many of the evaluation's problems differ in what decides their
// answer. Pure.
std::string WarningOfFewProblems(const EvaluationConfig& evaluation, size_t different, int64_t drawn);

}  // namespace reprise::rl

#endif  // RL_EPISODES_PROBLEM_FORM_H_
