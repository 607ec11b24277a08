#include "rl/evaluation/held_out_tasks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "data/jsonl/shuffled_index.h"
#include "rl/episodes/draw_problem.h"
#include "rl/episodes/problem_form.h"
#include "rl/episodes/prompt.h"
#include "rl/episodes/task_batch.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {
namespace {

class Source {
 public:
  Source(const Config& config, const std::vector<data::Task>& held_out) : config_(config), held_out_(held_out) {}

  absl::Status Prepare(const models::Tokenizer& tokenizer) {
    if (!held_out_.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(drawn_, ProblemSource::Create(config_, tokenizer));
    return absl::OkStatus();
  }

  absl::StatusOr<data::Task> At(int64_t index) const {
    const uint64_t place = static_cast<uint64_t>(index);
    if (drawn_) {
      return drawn_->Draw({static_cast<uint64_t>(config_.run.seed), Purpose::kEvaluationTask, 0, place},
                          /*held_out=*/true);
    }
    const uint64_t seed = static_cast<uint64_t>(config_.evaluation.split_seed);
    const int64_t count = static_cast<int64_t>(held_out_.size());
    return held_out_[data::ShuffledIndex(count, seed, Purpose::kEvaluationTask, place)];
  }

 private:
  const Config& config_;
  const std::vector<data::Task>& held_out_;
  std::optional<ProblemSource> drawn_;
};

}  // namespace

absl::StatusOr<std::vector<TaskRecord>> HeldOutTasks(const Config& config, const std::vector<data::Task>& held_out,
                                                     const models::Tokenizer& tokenizer, int64_t positions) {
  const int64_t wanted = config.evaluation.num_prompts, length = config.rollout.max_completion_length;
  const int64_t count = held_out.empty() ? wanted : std::min(wanted, static_cast<int64_t>(held_out.size()));
  Source source(config, held_out);
  RETURN_IF_ERROR(source.Prepare(tokenizer));
  std::vector<TaskRecord> tasks;
  for (int64_t index = 0; index < count; ++index) {
    ASSIGN_OR_RETURN(data::Task task, source.At(index));
    const std::string line = task.line == 0 ? "" : absl::StrCat(" (line ", task.line, " of its file)");
    TaskRecord record = MakeTaskRecord(index, std::move(task));
    CompletionTask& completion = CompletionOf(record);
    const std::string name = absl::StrCat("held-out problem ", index, line);
    ASSIGN_OR_RETURN(completion.tokens, EncodeText(config, tokenizer, completion.text, name));
    CutPrompt(config.rollout, &completion.tokens);
    const int64_t tokens = static_cast<int64_t>(completion.tokens.size());
    RETURN_IF_ERROR(RequireTokens(name, completion.text, completion.tokens));
    if (tokens + length > positions) {
      return absl::InvalidArgumentError(absl::StrCat(name, " has ", tokens,
                                                     " tokens; with rollout.max_completion_length ", length,
                                                     " it does not fit the model's ", positions, " positions"));
    }
    tasks.push_back(std::move(record));
  }
  return tasks;
}

absl::StatusOr<int64_t> CountTrainedOn(const Config& config, const models::Tokenizer& tokenizer,
                                       const TrainedPrompts& trained, const std::vector<TaskRecord>& tasks,
                                       const RolloutConfig& evaluated) {
  ASSIGN_OR_RETURN(const ProblemForms forms, ProblemForms::Create(config, tokenizer));
  std::set<std::string> trained_forms;
  for (const std::string& prompt : trained.prompts) {
    const absl::StatusOr<std::string> read = PromptAsRead(trained.rollout, tokenizer, prompt);
    if (read.ok()) trained_forms.insert(forms.FormOfRead(*read));
  }
  return std::count_if(tasks.begin(), tasks.end(), [&](const auto& task) {
    const absl::StatusOr<std::string> read = PromptAsRead(evaluated, tokenizer, CompletionOf(task).text);
    return read.ok() && trained_forms.contains(forms.FormOfRead(*read));
  });
}

absl::StatusOr<std::string> WarningOfFewTasks(const Config& config, const models::Tokenizer& tokenizer,
                                              const std::vector<TaskRecord>& tasks) {
  ASSIGN_OR_RETURN(const ProblemForms forms, ProblemForms::Create(config, tokenizer));
  std::set<std::pair<std::string, std::string>> different;  // an environment may hide what decides the answer
  for (const TaskRecord& task : tasks) {
    ASSIGN_OR_RETURN(std::string form, forms.FormFor(CompletionOf(task).text));
    different.emplace(std::move(form), CompletionOf(task).answer);
  }
  return WarningOfFewProblems(config.evaluation, different.size(), static_cast<int64_t>(tasks.size()));
}

}  // namespace reprise::rl
