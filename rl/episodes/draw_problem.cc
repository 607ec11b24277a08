#include "rl/episodes/draw_problem.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/status/status_macros.h"
#include "rl/environments/environments.h"

namespace reprise::rl {
namespace {

constexpr uint64_t kAttempts = uint64_t{1} << 16;

}  // namespace

double HeldOutPlace(uint64_t split_seed, absl::string_view form) {
  Sha256Stream stream;
  stream.UpdateU64(split_seed);
  stream.Update(form);
  const Digest digest = stream.Current();
  uint64_t bits = 0;
  for (size_t i = 0; i < 8; ++i) bits = bits << 8 | static_cast<uint64_t>(digest[i]);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

Split SplitByForm(absl::Span<const std::string> form_of_problem, uint64_t split_seed, double share) {
  std::set<std::pair<double, absl::string_view>> forms;
  for (const std::string& form : form_of_problem) forms.emplace(HeldOutPlace(split_seed, form), form);
  const double count = static_cast<double>(forms.size());
  const size_t held_out = forms.size() - static_cast<size_t>(std::floor((1.0 - share) * count));
  std::set<absl::string_view> chosen;
  for (const auto& [place, form] : forms) {
    if (chosen.size() == held_out) break;
    chosen.insert(form);
  }
  Split split;
  for (size_t i = 0; i < form_of_problem.size(); ++i) {
    (chosen.contains(form_of_problem[i]) ? split.held_out : split.training).push_back(static_cast<int64_t>(i));
  }
  return split;
}

absl::StatusOr<ProblemSource> ProblemSource::Create(const Config& config, const models::Tokenizer& tokenizer) {
  ASSIGN_OR_RETURN(std::unique_ptr<Environment> environment, MakeEnvironment(config, nullptr));
  ASSIGN_OR_RETURN(const data::TaskOptions options, TaskOptionsFrom(config.data));
  ASSIGN_OR_RETURN(ProblemForms forms, ProblemForms::Create(config, tokenizer));
  return ProblemSource(config, std::move(forms), std::move(environment), options);
}

data::Task ProblemSource::At(const TaskPlace& place) const {
  if (environment_ != nullptr) {
    if (std::optional<data::Task> task = environment_->TaskAt(place)) return *std::move(task);
  }
  return data::MakeTask(options_, place.seed, place.purpose, place.step, place.prompt, place.attempt);
}

absl::Status ProblemSource::CannotSplit(bool held_out, size_t forms) const {
  const std::string& environment = config_.environment.name;
  const bool reads_task = environment.empty() || environment == "process";
  const absl::string_view more = !reads_task                       ? "choose an environment with more problems"
                                 : config_.data.task == "addition" ? "raise data.max_length"
                                                                   : "raise data.max_length or data.alphabet_size";
  const absl::string_view other_share = forms == 1 ? "" : held_out ? ", raise the share" : ", lower the share";
  return absl::InvalidArgumentError(absl::StrCat(
      "evaluation.held_out_share ", config_.evaluation.held_out_share, ": ", kAttempts, " draws of the ",
      environment.empty() ? absl::StrCat("task ", config_.data.task) : absl::StrCat("environment ", environment),
      " gave ", forms, forms == 1 ? " problem, which is not " : " different problems, none of which is ",
      held_out ? "held out" : "left for training",
      "; problems are distinguished by what of their prompts, as the policy reads them, decides the answer, and there "
      "are too few: ",
      more, other_share, ", or set the share to 0"));
}

absl::StatusOr<data::Task> ProblemSource::Draw(TaskPlace place, bool held_out) const {
  const double share = config_.evaluation.held_out_share;
  if (share == 0) return At(place);
  const uint64_t split_seed = static_cast<uint64_t>(config_.evaluation.split_seed);
  std::set<std::string> other_side;
  for (place.attempt = 0; place.attempt < kAttempts; ++place.attempt) {
    data::Task task = At(place);
    ASSIGN_OR_RETURN(std::string form, forms_.FormFor(task.prompt));
    if (IsHeldOut(split_seed, share, form) == held_out) return task;
    other_side.insert(std::move(form));
  }
  return CannotSplit(held_out, other_side.size());
}

}  // namespace reprise::rl
