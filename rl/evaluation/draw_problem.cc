#include "rl/evaluation/draw_problem.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/evaluation/held_out.h"

namespace reprise::rl {
namespace {

constexpr uint64_t kAttempts = uint64_t{1} << 16;

}  // namespace

absl::StatusOr<data::Task> DrawProblem(const Config& config, const ProblemPlace& place, bool held_out) {
  data::TaskOptions options = {.min_length = config.data.min_length,
                               .max_length = config.data.max_length,
                               .alphabet_size = config.data.alphabet_size};
  ASSIGN_OR_RETURN(options.kind, data::ParseTaskKind(config.data.task));
  RETURN_IF_ERROR(data::ValidateTaskOptions(options));
  const double share = config.evaluation.held_out_share;
  const uint64_t split_seed = static_cast<uint64_t>(config.evaluation.split_seed);
  for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    data::Task task = data::MakeTask(options, place.seed, place.purpose, place.step, place.index, attempt);
    if (share == 0 || IsHeldOut(split_seed, share, task.prompt) == held_out) return task;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("evaluation.held_out_share ", share, ": ", kAttempts, " draws of the task ", config.data.task,
                   " gave no problem that is ", held_out ? "held out" : "left for training",
                   "; it has too few for that: raise data.max_length or data.alphabet_size"));
}

}  // namespace reprise::rl
