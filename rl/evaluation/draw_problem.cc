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

absl::StatusOr<data::Task> ProblemSource::Draw(const TaskPlace& place, bool held_out) const {
  const double share = config_.evaluation.held_out_share;
  if (environment_ != nullptr) {
    std::optional<data::Task> task = environment_->TaskAt(place);
    if (task && share > 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "evaluation.held_out_share ", share, " with environment.name ", config_.environment.name,
          ": the tasks that it makes itself cannot be split; set it to 0: held-out ones have draws of their "
          "own"));
    }
    if (task) return *std::move(task);
  }
  const uint64_t split_seed = static_cast<uint64_t>(config_.evaluation.split_seed);
  for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    data::Task task = data::MakeTask(options_, place.seed, place.purpose, place.step, place.prompt, attempt);
    if (share == 0 || IsHeldOut(split_seed, share, task.prompt) == held_out) return task;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("evaluation.held_out_share ", share, ": ", kAttempts, " draws of the task ", config_.data.task,
                   " gave no problem that is ", held_out ? "held out" : "left for training",
                   "; it has too few for that: raise data.max_length or data.alphabet_size"));
}

}  // namespace reprise::rl
