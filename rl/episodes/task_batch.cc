#include "rl/episodes/task_batch.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/random/draw.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "data/jsonl/shuffled_index.h"
#include "rl/environments/environments.h"
#include "rl/episodes/draw_problem.h"
#include "rl/episodes/prompt.h"
#include "rl/record/completions/completion_record.h"
#include "rl/workload/task_purpose.h"

namespace reprise::rl {
namespace {

// Where the tasks of one step come from.
class StepTasks {
 public:
  StepTasks(const Config& config, const std::vector<data::Task>& problems, Phase phase, int64_t step)
      : config_(config),
        problems_(problems),
        seed_(static_cast<uint64_t>(config.run.seed)),
        purpose_(TaskPurpose(phase)),
        step_(step),
        prompts_(phase == Phase::kSft ? config.sft.prompts_per_step : config.rollout.prompts_per_step) {}

  absl::Status MakeSource(const models::Tokenizer& tokenizer) {
    ASSIGN_OR_RETURN(source_, ProblemSource::Create(config_, tokenizer));
    return absl::OkStatus();
  }

  absl::StatusOr<data::Task> At(int64_t prompt) const {
    if (!problems_.empty()) return problems_[ProblemAt(prompt)];
    return source_->Draw({seed_, purpose_, static_cast<uint64_t>(step_), static_cast<uint64_t>(prompt)},
                         /*held_out=*/false);
  }

  // Returns the name of a task, for messages.
  std::string Name(int64_t prompt) const {
    const std::string line =
        problems_.empty() ? ""
                          : absl::StrCat(" (line ", problems_[ProblemAt(prompt)].line, " of ", config_.data.path, ")");
    return absl::StrCat("prompt ", prompt, " of ", purpose_ == Purpose::kSftTask ? "SFT " : "", "step ", step_, line);
  }

 private:
  int64_t ProblemAt(int64_t prompt) const {
    return data::ShuffledIndex(static_cast<int64_t>(problems_.size()), seed_, purpose_,
                               static_cast<uint64_t>((step_ - 1) * prompts_ + prompt));
  }

  const Config& config_;
  const std::vector<data::Task>& problems_;
  std::optional<ProblemSource> source_;  // of tasks that do not come from a file
  const uint64_t seed_;
  const Purpose purpose_;
  const int64_t step_, prompts_;
};

absl::Status TooLongError(const Config& config, const std::string& name, int64_t tokens, absl::string_view more,
                        int64_t positions) {
  const absl::string_view remedy =
      config.data.path.empty() ? "the task (data.max_length)" : "the prompts (rollout.max_prompt_length)";
  return absl::InvalidArgumentError(absl::StrCat(name, " has ", tokens, " tokens; with ", more,
                                                 " it does not fit the model's ", positions, " positions: shorten ",
                                                 remedy, " or the completions"));
}

}  // namespace

TaskRecord MakeTaskRecord(int64_t prompt, data::Task task) {
  return CompletionTaskRecord(prompt, {.text = std::move(task.prompt),
                                       .answer = std::move(task.answer),
                                       .has_answer = task.has_answer,
                                       .more = std::move(task.more)});
}

absl::StatusOr<std::vector<int32_t>> EncodeText(const Config& config, const models::Tokenizer& tokenizer,
                                                const std::string& text, const std::string& name) {
  absl::StatusOr<std::vector<int32_t>> tokens = tokenizer.Encode(text);
  if (tokens.ok()) return tokens;
  const absl::string_view remedy =
      config.model.path.empty()
          ? "; a model from scratch has tokens for ASCII, and with model.vocab_size = 256, and one more for each of "
            "model.words, for every byte"
          : "";
  constexpr size_t kShown = 60;
  return absl::Status(tokens.status().code(),
                      absl::StrCat(name, ": ", Quoted(text, kShown), ": ", tokens.status().message(), remedy));
}

absl::StatusOr<std::vector<TaskRecord>> DrawTasks(const Config& config, const std::vector<data::Task>& problems,
                                                  const models::Tokenizer& tokenizer, int64_t positions, Phase phase,
                                                  int64_t step, int64_t begin, int64_t end) {
  StepTasks source(config, problems, phase, step);
  if (problems.empty()) RETURN_IF_ERROR(source.MakeSource(tokenizer));
  const int64_t length = config.rollout.max_completion_length;
  std::vector<TaskRecord> tasks;
  for (int64_t prompt = begin; prompt < end; ++prompt) {
    ASSIGN_OR_RETURN(data::Task task, source.At(prompt));
    TaskRecord record = MakeTaskRecord(prompt, std::move(task));
    CompletionTask& completion = CompletionOf(record);
    ASSIGN_OR_RETURN(completion.tokens, EncodeText(config, tokenizer, completion.text, source.Name(prompt)));
    CutPrompt(config.rollout, &completion.tokens);
    const int64_t tokens = static_cast<int64_t>(completion.tokens.size());
    RETURN_IF_ERROR(RequireTokens(source.Name(prompt), completion.text, completion.tokens));
    if (tokens + length > positions) {
      return TooLongError(config, source.Name(prompt), tokens, absl::StrCat("rollout.max_completion_length ", length),
                        positions);
    }
    if (phase == Phase::kSft && !HasEnvironment(config)) {
      ASSIGN_OR_RETURN(const std::vector<int32_t> encoded,
                       EncodeText(config, tokenizer, completion.answer, source.Name(prompt)));
      const int64_t answer = static_cast<int64_t>(encoded.size());
      // The end token after the answer needs no position.
      if (tokens + answer > positions) {
        return TooLongError(config, source.Name(prompt), tokens, absl::StrCat("the ", answer, " tokens of its answer"),
                          positions);
      }
    }
    tasks.push_back(std::move(record));
  }
  return tasks;
}

}  // namespace reprise::rl
