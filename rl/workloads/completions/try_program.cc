// Calls the external process of process.command once, before a run relies on it.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/process/child_process.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "rl/config/reward_choice.h"
#include "rl/environments/environments.h"
#include "rl/environments/process/process_environment.h"
#include "rl/episodes/task_batch.h"
#include "rl/record/completions/completion_record.h"
#include "rl/workloads/completions/prepared_completions.h"

namespace reprise::rl {
namespace {

// Returns the first episode of the run, or of an evaluation that has problems of its own, with the problem's answer as
// action.
absl::StatusOr<Dialogue> FirstDialogue(const Config& config, const PreparedCompletions& parts) {
  const std::vector<data::Task>& problems = parts.problems.empty() ? parts.held_out : parts.problems;
  ASSIGN_OR_RETURN(const std::vector<TaskRecord> tasks,
                   DrawTasks(config, problems, *parts.tokenizer, parts.model->config().max_position_embeddings,
                             Phase::kTraining, /*step=*/1, /*begin=*/0, /*end=*/1));
  Dialogue dialogue;
  dialogue.place = {.seed = static_cast<uint64_t>(config.run.seed), .purpose = Purpose::kTask, .step = 1};
  const CompletionTask& task = CompletionOf(tasks[0]);
  dialogue.task = {.prompt = task.text, .answer = task.answer, .has_answer = task.has_answer, .more = task.more};
  if (HasEnvironment(config)) dialogue.actions.push_back(task.answer);
  return dialogue;
}

absl::Status Try(const Config& config, const PreparedCompletions& parts) {
  ASSIGN_OR_RETURN(Dialogue dialogue, FirstDialogue(config, parts));
  if (config.environment.name == kProcess) {
    ASSIGN_OR_RETURN(Reply reply, ProcessEnvironment(parts.process_client).Step(dialogue));
    dialogue.replies.push_back(std::move(reply));
  }
  ASSIGN_OR_RETURN(const RewardChoice rewards, ParseRewardChoice(config.algorithm.reward));
  if (!rewards.Names(kProcessReward)) return absl::OkStatus();
  return ScoreByProcess(*parts.process_client, dialogue, dialogue.task.answer, /*terminated=*/true).status();
}

}  // namespace

absl::Status PreparedCompletions::ProbeProcess(const Config& config) const {
  if (process_client == nullptr) return absl::OkStatus();
  const std::string& command = process_client->command();
  RETURN_IF_ERROR(
      WithContext(CheckCommand(command), absl::StrCat("the process ", Quoted(command), " cannot be started")));
  return WithContext(Try(config, *this), "before the first step");
}

}  // namespace reprise::rl
