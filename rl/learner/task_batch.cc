#include "rl/learner/task_batch.h"

#include "absl/strings/str_cat.h"
#include "core/random/draw.h"
#include "core/status/status_macros.h"
#include "data/tasks/task.h"

namespace reprise::rl {

int64_t FirstPromptOfShard(int64_t prompts, int shards, int shard) { return prompts * shard / shards; }

absl::StatusOr<std::vector<TaskRecord>> DrawTasks(const Config& config, const models::Tokenizer& tokenizer,
                                                  int64_t positions, Phase phase, int64_t step, int64_t begin,
                                                  int64_t end) {
  data::TaskOptions options;
  ASSIGN_OR_RETURN(options.kind, data::ParseTaskKind(config.data.task));
  options.min_length = config.data.min_length;
  options.max_length = config.data.max_length;
  options.alphabet_size = config.data.alphabet_size;
  RETURN_IF_ERROR(data::ValidateTaskOptions(options));
  const Purpose purpose = phase == Phase::kWarmUp ? Purpose::kWarmUpTask : Purpose::kTask;
  std::vector<TaskRecord> tasks;
  for (int64_t prompt = begin; prompt < end; ++prompt) {
    data::Task task = data::MakeTask(options, static_cast<uint64_t>(config.run.seed), purpose,
                                     static_cast<uint64_t>(step), static_cast<uint64_t>(prompt));
    TaskRecord record = {prompt, std::move(task.prompt), std::move(task.answer), {}};
    ASSIGN_OR_RETURN(record.tokens, tokenizer.Encode(record.text));
    const int64_t tokens = static_cast<int64_t>(record.tokens.size());
    if (tokens == 0 || tokens + config.rollout.max_completion_length > positions) {
      return absl::InvalidArgumentError(absl::StrCat(
          "prompt ", prompt, " of step ", step, " has ", tokens, " tokens; with rollout.max_completion_length ",
          config.rollout.max_completion_length, " it does not fit the model's ", positions,
          " positions: shorten the task (data.max_length) or the completions"));
    }
    tasks.push_back(std::move(record));
  }
  return tasks;
}

}  // namespace reprise::rl
