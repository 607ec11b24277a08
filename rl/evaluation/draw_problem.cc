#include "rl/evaluation/draw_problem.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/environment/environments.h"
#include "rl/evaluation/held_out.h"

namespace reprise::rl {
namespace {

constexpr uint64_t kAttempts = uint64_t{1} << 16;

}  // namespace

absl::StatusOr<ProblemSource> ProblemSource::Create(const Config& config) {
  ASSIGN_OR_RETURN(std::unique_ptr<Environment> environment, MakeEnvironment(config, nullptr));
  data::TaskOptions options = {.min_length = config.data.min_length,
                               .max_length = config.data.max_length,
                               .alphabet_size = config.data.alphabet_size};
  ASSIGN_OR_RETURN(options.kind, data::ParseTaskKind(config.data.task));
  RETURN_IF_ERROR(data::ValidateTaskOptions(options));
  return ProblemSource(config, std::move(environment), options);
}

// The place's problem, and what it is known by when problems are split: the prompt, and where an environment's prompts
// say little of its tasks (the number to be guessed), the answer behind it.
ProblemSource::Problem ProblemSource::At(const TaskPlace& place) const {
  if (environment_ != nullptr) {
    if (std::optional<data::Task> task = environment_->TaskAt(place)) {
      std::string name = absl::StrCat(task->prompt, "\n", task->answer);
      return {*std::move(task), std::move(name)};
    }
  }
  data::Task task = data::MakeTask(options_, place.seed, place.purpose, place.step, place.prompt, place.attempt);
  std::string name = task.prompt;
  return {std::move(task), std::move(name)};
}

absl::StatusOr<data::Task> ProblemSource::Draw(TaskPlace place, bool held_out) const {
  const double share = config_.evaluation.held_out_share;
  const uint64_t split_seed = static_cast<uint64_t>(config_.evaluation.split_seed);
  for (place.attempt = 0; place.attempt < kAttempts; ++place.attempt) {
    Problem problem = At(place);
    if (share == 0 || IsHeldOut(split_seed, share, problem.name) == held_out) return std::move(problem.task);
  }
  const std::string& environment = config_.environment.name;
  return absl::InvalidArgumentError(absl::StrCat(
      "evaluation.held_out_share ", share, ": ", kAttempts, " draws of the ",
      environment.empty() ? absl::StrCat("task ", config_.data.task) : absl::StrCat("environment ", environment),
      " gave no problem that is ", held_out ? "held out" : "left for training", "; it has too few for that: ",
      environment.empty() ? "raise data.max_length or data.alphabet_size" : "give it more of them, or set it to 0"));
}

}  // namespace reprise::rl
