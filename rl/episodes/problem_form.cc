#include "rl/episodes/problem_form.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/environments/environments.h"
#include "rl/episodes/prompt.h"

namespace reprise::rl {

absl::StatusOr<ProblemForms> ProblemForms::Create(const Config& config, const models::Tokenizer& tokenizer) {
  ProblemForms forms(config.rollout, tokenizer);
  if (!config.data.path.empty()) return forms;
  ASSIGN_OR_RETURN(std::unique_ptr<Environment> environment, MakeEnvironment(config, nullptr));
  if (environment != nullptr && environment->TaskAt({}).has_value()) {
    forms.environment_ = std::move(environment);
    return forms;
  }
  ASSIGN_OR_RETURN(forms.options_, TaskOptionsFrom(config.data));
  forms.is_generated_ = true;
  return forms;
}

absl::StatusOr<std::string> ProblemForms::FormFor(absl::string_view prompt) const {
  ASSIGN_OR_RETURN(const std::string read, PromptAsRead(rollout_, *tokenizer_, prompt));
  return FormOfRead(read);
}

std::string ProblemForms::FormOfRead(const std::string& read) const {
  if (environment_ != nullptr) return environment_->CanonicalProblem(read);
  return is_generated_ ? data::CanonicalProblem(options_.kind, read) : read;
}

// A tokenizer may change letters, as one that ignores case does: a prompt counts as it is read, and in lower case.
bool ProblemForms::IsNeverDrawn(absl::string_view prompt) const {
  if (!is_generated_ || rollout_.max_prompt_length > 0) return false;
  const absl::StatusOr<std::string> read = PromptAsRead(rollout_, *tokenizer_, prompt);
  const absl::string_view text = absl::StripAsciiWhitespace(prompt);
  if (!read.ok() || absl::StripAsciiWhitespace(*read) != text) return false;
  return !data::CanBePrompt(options_, absl::AsciiStrToLower(text));
}

absl::StatusOr<data::TaskOptions> TaskOptionsFrom(const DataConfig& config) {
  data::TaskOptions options = {
      .min_length = config.min_length, .max_length = config.max_length, .alphabet_size = config.alphabet_size};
  ASSIGN_OR_RETURN(options.kind, data::ParseTaskKind(config.task));
  RETURN_IF_ERROR(data::ValidateTaskOptions(options));
  return options;
}

std::string WarningOfFewProblems(const EvaluationConfig& evaluation, size_t different, int64_t drawn) {
  constexpr size_t kFew = 10;
  const bool is_drawn = evaluation.held_out_share > 0 && evaluation.path.empty();
  if (!is_drawn || different >= kFew || 2 * static_cast<int64_t>(different) > drawn) return "";
  return absl::StrCat(
      "evaluation.held_out_share ", evaluation.held_out_share, ": only ", different,
      different == 1 ? " problem is" : " different problems are",
      " held out, repeated in other orders or words until there are ", drawn,
      ", so evaluations say little about others, and their intervals are too narrow: raise the share, or "
      "choose a task with more problems");
}

}  // namespace reprise::rl
