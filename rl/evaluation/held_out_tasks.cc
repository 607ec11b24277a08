#include "rl/evaluation/held_out_tasks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "data/jsonl/shuffled_index.h"
#include "rl/evaluation/draw_problem.h"

namespace reprise::rl {
namespace {

absl::StatusOr<data::Task> ProblemAt(const Config& config, const std::vector<data::Task>& held_out, int64_t index) {
  const uint64_t place = static_cast<uint64_t>(index);
  if (held_out.empty()) {
    return DrawProblem(config, {static_cast<uint64_t>(config.run.seed), Purpose::kEvaluationTask, 0, place},
                       /*held_out=*/true);
  }
  const int64_t at =
      data::ShuffledIndex(static_cast<int64_t>(held_out.size()), static_cast<uint64_t>(config.evaluation.split_seed),
                          Purpose::kEvaluationTask, place);
  return held_out[static_cast<size_t>(at)];
}

}  // namespace

absl::StatusOr<std::vector<TaskRecord>> HeldOutTasks(const Config& config, const std::vector<data::Task>& held_out,
                                                     const models::Tokenizer& tokenizer, int64_t positions) {
  const int64_t wanted = config.evaluation.num_prompts, length = config.rollout.max_completion_length;
  const int64_t count = held_out.empty() ? wanted : std::min(wanted, static_cast<int64_t>(held_out.size()));
  std::vector<TaskRecord> tasks;
  for (int64_t index = 0; index < count; ++index) {
    ASSIGN_OR_RETURN(data::Task task, ProblemAt(config, held_out, index));
    TaskRecord record = {index, std::move(task.prompt), std::move(task.answer), {}};
    ASSIGN_OR_RETURN(record.tokens, tokenizer.Encode(record.text));
    const int64_t tokens = static_cast<int64_t>(record.tokens.size());
    if (tokens == 0 || tokens + length > positions) {
      const std::string line = task.line == 0 ? "" : absl::StrCat(" (line ", task.line, " of its file)");
      return absl::InvalidArgumentError(absl::StrCat("held-out problem ", index, line, " has ", tokens,
                                                     " tokens; with rollout.max_completion_length ", length,
                                                     " it does not fit the model's ", positions, " positions"));
    }
    tasks.push_back(std::move(record));
  }
  return tasks;
}

}  // namespace reprise::rl
