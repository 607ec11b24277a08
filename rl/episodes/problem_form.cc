#include "rl/episodes/problem_form.h"

#include <utility>

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
  ASSIGN_OR_RETURN(forms.kind_, data::ParseTaskKind(config.data.task));
  forms.is_generated_ = true;
  return forms;
}

absl::StatusOr<std::string> ProblemForms::FormFor(absl::string_view prompt) const {
  ASSIGN_OR_RETURN(std::string read, PromptAsRead(rollout_, *tokenizer_, prompt));
  if (environment_ != nullptr) return environment_->CanonicalProblem(read);
  return is_generated_ ? data::CanonicalProblem(kind_, read) : read;
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
