#include "rl/evaluation/held_out_tasks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "data/jsonl/shuffled_index.h"
#include "rl/episodes/draw_problem.h"
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
    return held_out_[static_cast<size_t>(data::ShuffledIndex(count, seed, Purpose::kEvaluationTask, place))];
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
    TaskRecord record = RecordOf(index, std::move(task));
    CompletionTask& completion = CompletionOf(record);
    ASSIGN_OR_RETURN(completion.tokens,
                     EncodeText(config, tokenizer, completion.text, absl::StrCat("held-out problem ", index, line)));
    CutPrompt(config.rollout, &completion.tokens);
    const int64_t tokens = static_cast<int64_t>(completion.tokens.size());
    if (tokens == 0 || tokens + length > positions) {
      return absl::InvalidArgumentError(absl::StrCat("held-out problem ", index, line, " has ", tokens,
                                                     " tokens; with rollout.max_completion_length ", length,
                                                     " it does not fit the model's ", positions, " positions"));
    }
    tasks.push_back(std::move(record));
  }
  return tasks;
}

int64_t CountTrainedOn(const RolloutConfig& rollout, const models::Tokenizer& tokenizer,
                       const std::set<std::string>& texts, const std::vector<TaskRecord>& tasks) {
  std::set<std::vector<int32_t>> trained;
  for (const std::string& text : texts) {
    absl::StatusOr<std::vector<int32_t>> tokens = tokenizer.Encode(text);
    if (!tokens.ok()) continue;
    CutPrompt(rollout, &*tokens);
    trained.insert(*std::move(tokens));
  }
  return std::count_if(tasks.begin(), tasks.end(),
                       [&](const auto& task) { return trained.contains(CompletionOf(task).tokens); });
}

}  // namespace reprise::rl
