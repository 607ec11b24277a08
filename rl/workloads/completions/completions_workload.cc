#include "rl/workloads/completions/completions_workload.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/comm/agree.h"
#include "core/status/status_macros.h"
#include "rl/config/evaluation_check.h"
#include "rl/episodes/prompt_baselines.h"
#include "rl/episodes/task_batch.h"
#include "rl/evaluation/evaluate.h"
#include "rl/evaluation/held_out_tasks.h"
#include "rl/record/completions/completion_record.h"
#include "rl/workloads/completions/completion_metrics.h"
#include "rl/workloads/completions/options.h"
#include "rl/workloads/completions/section/environment_section.h"

namespace reprise::rl {

absl::StatusOr<std::unique_ptr<CompletionsWorkload>> CompletionsWorkload::Create(CompletionsDeps parts) {
  std::vector<TaskRecord> held_out;
  if (parts.config.evaluation.every > 0) {
    ASSIGN_OR_RETURN(held_out, AgreeOk(parts.comm, HeldOutTasks(parts.config, parts.held_out, parts.tokenizer,
                                                                parts.model.config().max_position_embeddings)));
  }
  return std::unique_ptr<CompletionsWorkload>(new CompletionsWorkload(std::move(parts), std::move(held_out)));
}

CompletionsWorkload::CompletionsWorkload(CompletionsDeps parts, std::vector<TaskRecord> held_out)
    : parts_(std::move(parts)),
      schema_(CompletionSchema(parts_.form)),
      checks_(ChecksActions(parts_.config.environment)
                  ? std::optional(MakeActionCheckOptions(parts_.config.environment))
                  : std::nullopt),
      held_out_(std::move(held_out)) {}

absl::StatusOr<StepEpisodes> CompletionsWorkload::Draw(const StepPart& part) {
  StepEpisodes result;
  // Agreed on before the episodes, whose sampling takes longer.
  ASSIGN_OR_RETURN(result.task_P, AgreeOk(parts_.comm, DrawTasks(parts_.config, parts_.problems, parts_.tokenizer,
                                                                 parts_.model.config().max_position_embeddings,
                                                                 part.phase, part.step, part.begin, part.end)));
  ASSIGN_OR_RETURN(Episodes episodes, AgreeOk(parts_.comm, parts_.source->Draw(part.phase, part.step, result.task_P)));
  result.episode_N = std::move(episodes.episode_N);
  result.count_C = std::move(episodes.expert_count_LE);
  if (part.phase == Phase::kTraining && checks_) {
    for (EpisodeRecord& episode : result.episode_N)
      CheckActions(parts_.tokenizer, parts_.rewards.rules, *checks_, &episode);
  }
  for (const EpisodeRecord& episode : result.episode_N) {
    const CompletionTask& task = CompletionOf(FindTask(result.task_P, episode));
    result.num_tokens += static_cast<int64_t>(task.tokens.size() + CompletionOf(episode).tokens.size());
  }
  return result;
}

absl::Status CompletionsWorkload::Reward(absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) {
  return ScoreEpisodes(parts_.tokenizer, parts_.rewards, task_P, episode_N);
}

absl::StatusOr<std::vector<double>> CompletionsWorkload::PromptBaselines(const PromptBaselineRequest& request,
                                                                         const std::vector<TaskRecord>& task_P) {
  models::GenerateOptions options = MakeGenerateOptions(parts_.config, parts_.tokenizer, parts_.rewards.rules);
  options.step = static_cast<uint64_t>(request.step);
  return rl::PromptBaselines({request.policy, parts_.tokenizer, parts_.turns, options, parts_.rewards, parts_.pool},
                             task_P, request.algorithm.advantage, request.algorithm.optimal);
}

absl::StatusOr<Metrics> CompletionsWorkload::Evaluate(int64_t step, int64_t reporting_step) {
  const bool on_start = step < reporting_step;
  std::vector<EvaluationReply> stored;
  const std::vector<EvaluationReply>* const all = parts_.source->StoredEvaluation(reporting_step);
  if (all != nullptr) {
    std::copy_if(all->begin(), all->end(), std::back_inserter(stored),
                 [&](const EvaluationReply& reply) { return reply.on_start == on_start; });
  }
  ASSIGN_OR_RETURN(Evaluation evaluation,
                   rl::Evaluate({parts_.model, parts_.tokenizer, parts_.rewards, parts_.evaluation_turns, parts_.comm,
                                 parts_.pool, all == nullptr ? nullptr : &stored},
                                held_out_,
                                MakeEvaluationOptions(parts_.config, parts_.tokenizer, parts_.evaluation_turns.rules,
                                                      step, parts_.comm.size())));
  for (EvaluationReply& reply : evaluation.replies) {
    reply.on_start = on_start;
    replies_.push_back(std::move(reply));
  }
  return ScoreMetrics(evaluation.score_P, parts_.config.evaluation.num_generations, DefinesAccuracy(parts_.config));
}

std::vector<StreamTable> CompletionsWorkload::EncodeStep(StepRecord part) {
  GetEvaluationReplies(part) = std::exchange(replies_, {});
  return CompletionTables(part, parts_.form);
}

absl::StatusOr<StepRecord> CompletionsWorkload::DecodeStep(const StepTables& step) const {
  return rl::FromTables(step, parts_.form);
}

void CompletionsWorkload::AddMetrics(const AlgorithmConfig& algorithm, const StepRecord& record,
                                     Metrics* metrics) const {
  const Config& config = parts_.config;
  const int64_t group = algorithm.advantage.baseline_over_batch ? static_cast<int64_t>(record.episode_N.size())
                                                                : config.rollout.num_generations;
  AddCompletionMetrics(record,
                       {.group = group,
                        .counts_tool_calls = config.environment.max_tool_calls > 0,
                        .drops_invalid = checks_ && checks_->drops_invalid},
                       metrics);
}

}  // namespace reprise::rl
