#include "rl/workloads/memory_agent/memory_workload.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/comm/agree.h"
#include "core/comm/gather_rows.h"
#include "core/random/draw.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "rl/advantage/optimal_value.h"
#include "rl/workload/replay.h"
#include "rl/workloads/memory_agent/memory_metrics.h"
#include "rl/workloads/memory_agent/memory_record.h"
#include "rl/workloads/memory_agent/section/memory_section.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;

const EncoderPolicy& AsEncoderPolicy(const Policy& policy) {
  const auto* const encoder = dynamic_cast<const EncoderPolicy*>(&policy);
  CHECK(encoder != nullptr);
  return *encoder;
}

std::vector<EpisodePlace> ListEpisodes(absl::Span<const MemoryTask> task_P, int64_t samples) {
  std::vector<EpisodePlace> place_N;
  for (const MemoryTask& task : task_P) {
    for (int64_t sample = 0; sample < samples; ++sample) place_N.push_back({&task, static_cast<uint64_t>(sample)});
  }
  return place_N;
}

std::vector<MemoryTask> GetMemoryTasks(absl::Span<const TaskRecord> task_P) {
  std::vector<MemoryTask> tasks;
  for (const TaskRecord& task : task_P) tasks.push_back(GetMemoryTask(task));
  return tasks;
}

// Returns the stored operations of an episode.
absl::StatusOr<std::vector<MemoryOperation>> StoredOperations(const StepRecord& stored, const TaskRecord& task,
                                                              int64_t sample, int64_t samples) {
  ASSIGN_OR_RETURN(const EpisodeRecord* const episode, StoredEpisode(stored, task.prompt, sample, samples));
  return GetOperations(*episode);
}

}  // namespace

MemoryWorkload::MemoryWorkload(const WorkloadRun& run, EncoderPolicy& policy, const models::Tokenizer& tokenizer,
                               bool earns_by_turn)
    : run_(run),
      policy_(policy),
      tokenizer_(tokenizer),
      schema_(MemorySchema(run.config)),
      rewards_({.names_F = {run.config.memory.reward == MemoryReward::kAgemem ? "agemem" : "composite"},
                .weights_F = {1.0},
                .by_turn = earns_by_turn ? std::optional<size_t>(0) : std::nullopt}),
      // Nothing is differentiated here, so that one layer's activations are enough.
      workspace_(policy.NewWorkspace({.max_rows = run.config.execution.micro_batch_tokens, .recompute = true},
                                     Team(run.pool))) {}

PlayDeps MemoryWorkload::MakePlayDeps(const EncoderPolicy& policy) const {
  return {run_.config, tokenizer_, policy, workspace_.get()};
}

double MemoryWorkload::UniformAt(Purpose purpose, int64_t step, const EpisodePlace& place,
                                 const SimulatedEpisode& so_far) const {
  return DrawUniform(seed(), purpose,
                     {.step = static_cast<uint64_t>(step),
                      .prompt = place.task->prompt,
                      .sample = place.sample,
                      .turn = so_far.operations().size()});
}

absl::StatusOr<std::vector<EpisodeRecord>> MemoryWorkload::DrawEpisodes(const StepPart& part,
                                                                        absl::Span<const TaskRecord> task_P,
                                                                        const StepRecord* stored) const {
  if (task_P.empty()) return std::vector<EpisodeRecord>();
  const int64_t samples = run_.config.rollout.num_generations;
  const std::vector<MemoryTask> tasks = GetMemoryTasks(task_P);
  const std::vector<EpisodePlace> place_N = ListEpisodes(tasks, samples);
  const MemoryBehaviour behaviour = StageBehaviour(run_.config.memory, tasks.front().stage);
  std::vector<std::vector<MemoryOperation>> stored_NT;
  for (size_t n = 0; stored != nullptr && n < place_N.size(); ++n) {
    const int64_t sample = static_cast<int64_t>(place_N[n].sample);
    ASSIGN_OR_RETURN(stored_NT.emplace_back(),
                     StoredOperations(*stored, task_P[n / static_cast<size_t>(samples)], sample, samples));
  }
  const auto choose = [&](size_t n, const SimulatedEpisode& so_far, absl::Span<const float> logit_A) {
    const std::vector<MemoryOperation> choices = UniformChoices(behaviour, so_far.operations(), so_far.num_steps());
    if (stored == nullptr) {
      return DrawOperation(choices, logit_A, temperature(),
                           UniformAt(Purpose::kSampling, part.step, place_N[n], so_far));
    }
    return ScoreOperation(choices, logit_A, temperature(), stored_NT[n][so_far.operations().size()]);
  };
  PlayDeps parts = MakePlayDeps(policy_);
  if (policy_.encoder().lora.dropout > 0) parts.dropout = TextDropout{seed(), static_cast<uint64_t>(part.step)};
  ASSIGN_OR_RETURN(std::vector<PlayedEpisode> played_N, Play(parts, place_N, choose));
  std::vector<EpisodeRecord> episode_N;
  for (size_t n = 0; n < played_N.size(); ++n) {
    PlayedEpisode& played = played_N[n];
    EpisodeRecord& episode = episode_N.emplace_back(
        MemoryEpisodeRecord(task_P[n / static_cast<size_t>(samples)], static_cast<int64_t>(place_N[n].sample),
                            played.operation_T, std::move(played.token_TS)));
    // A replay leaves the policy's to the loop, which compares them with the stored ones.
    if (stored == nullptr) episode.logprobs = std::move(played.logprob_T);
    if (behaviour != MemoryBehaviour::kPolicy) episode.behaviour_logprobs = std::move(played.behaviour_logprob_T);
  }
  return episode_N;
}

absl::StatusOr<std::vector<EpisodeRecord>> MemoryWorkload::Solutions(absl::Span<const TaskRecord> task_P) const {
  const std::vector<MemoryTask> tasks = GetMemoryTasks(task_P);
  PlayDeps parts = MakePlayDeps(policy_);
  parts.computes_logits = false;
  const auto choose = [](size_t, const SimulatedEpisode& so_far, absl::Span<const float>) {
    return DrawnOperation{.operation = so_far.Solution()};
  };
  ASSIGN_OR_RETURN(std::vector<PlayedEpisode> played_P, Play(parts, ListEpisodes(tasks, 1), choose));
  std::vector<EpisodeRecord> episode_P;
  for (size_t p = 0; p < played_P.size(); ++p) {
    episode_P.push_back(MemoryEpisodeRecord(task_P[p], 0, played_P[p].operation_T, std::move(played_P[p].token_TS)));
  }
  return episode_P;
}

absl::StatusOr<StepEpisodes> MemoryWorkload::Draw(const StepPart& part) { return AgreeOk(run_.comm, DrawHere(part)); }

absl::StatusOr<StepEpisodes> MemoryWorkload::DrawHere(const StepPart& part) const {
  ASSIGN_OR_RETURN(const std::optional<StepRecord> stored, StoredStep(run_, part, *this));
  StepEpisodes result;
  for (int64_t prompt = part.begin; prompt < part.end; ++prompt) {
    result.task_P.push_back(MemoryTaskRecord(run_.config, part.phase, part.step, prompt));
  }
  if (part.phase == Phase::kSft) {
    ASSIGN_OR_RETURN(result.episode_N, Solutions(result.task_P));
  } else {
    ASSIGN_OR_RETURN(result.episode_N, DrawEpisodes(part, result.task_P, stored ? &*stored : nullptr));
  }
  for (const EpisodeRecord& episode : result.episode_N) result.num_tokens += episode.decisions.count;
  return result;
}

absl::Status MemoryWorkload::Reward(absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) {
  for (EpisodeRecord& episode : episode_N) {
    const EpisodeReport report = RebuildReport(run_.config, FindTask(task_P, episode), episode);
    if (run_.config.memory.reward == MemoryReward::kComposite) episode.earned_T = report.earned_T();
    episode.reward = report.reward;
    episode.rewards_F = {episode.reward};
    RETURN_IF_ERROR(CheckReward(episode));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EpisodeReport>> MemoryWorkload::Reports(const EncoderPolicy& policy,
                                                                   absl::Span<const EpisodePlace> place_N,
                                                                   const ChooseOperation& choose) const {
  ASSIGN_OR_RETURN(const std::vector<PlayedEpisode> played_N, Play(MakePlayDeps(policy), place_N, choose));
  std::vector<EpisodeReport> report_N;
  for (size_t n = 0; n < played_N.size(); ++n) {
    report_N.push_back(
        ReportEpisode(run_.config.memory, seed(), *place_N[n].task, place_N[n].sample, played_N[n].operation_T));
  }
  return report_N;
}

absl::StatusOr<std::vector<EpisodeReport>> MemoryWorkload::SampledReports(const EncoderPolicy& policy,
                                                                          absl::Span<const MemoryTask> task_P,
                                                                          int64_t samples, Purpose purpose,
                                                                          int64_t step) const {
  const std::vector<EpisodePlace> place_N = ListEpisodes(task_P, samples);
  return Reports(policy, place_N, [&](size_t n, const SimulatedEpisode& so_far, absl::Span<const float> logit_A) {
    return DrawOperation({}, logit_A, temperature(), UniformAt(purpose, step, place_N[n], so_far));
  });
}

absl::StatusOr<std::vector<EpisodeReport>> MemoryWorkload::GreedyReports(const EncoderPolicy& policy,
                                                                         absl::Span<const MemoryTask> task_P) const {
  return Reports(policy, ListEpisodes(task_P, 1), [](size_t, const SimulatedEpisode&, absl::Span<const float> logit_A) {
    return DrawnOperation{.operation = GreedyOperation(logit_A)};
  });
}

absl::StatusOr<std::vector<double>> MemoryWorkload::PromptBaselines(const PromptBaselineRequest& request,
                                                                    const std::vector<TaskRecord>& task_P) {
  const EncoderPolicy& policy = AsEncoderPolicy(request.policy);
  const std::vector<MemoryTask> tasks = GetMemoryTasks(task_P);
  std::vector<double> baseline_P;
  if (request.algorithm.advantage.baseline == Baseline::kGreedy) {
    ASSIGN_OR_RETURN(const std::vector<EpisodeReport> report_P, GreedyReports(policy, tasks));
    for (const EpisodeReport& report : report_P) baseline_P.push_back(report.reward);
    return baseline_P;
  }
  const OptimalValueOptions& optimal = request.algorithm.optimal;
  ASSIGN_OR_RETURN(const std::vector<EpisodeReport> report_N,
                   SampledReports(policy, tasks, optimal.num_samples, Purpose::kValueSampling, request.step));
  for (size_t begin = 0; begin < report_N.size(); begin += static_cast<size_t>(optimal.num_samples)) {
    std::vector<double> rewards;
    for (int64_t i = 0; i < optimal.num_samples; ++i)
      rewards.push_back(report_N[begin + static_cast<size_t>(i)].reward);
    baseline_P.push_back(OptimalValue(rewards, optimal));
  }
  return baseline_P;
}

absl::StatusOr<Metrics> MemoryWorkload::Evaluate(int64_t step, int64_t) {
  const EvaluationConfig& evaluation = run_.config.evaluation;
  const std::vector<MemoryTask> tasks = HeldOutMemoryTasks(run_.config, run_.comm.rank(), run_.comm.size());
  const auto measure = [&]() -> absl::StatusOr<std::vector<HeldOutScore>> {
    ASSIGN_OR_RETURN(const std::vector<EpisodeReport> greedy_P, GreedyReports(policy_, tasks));
    ASSIGN_OR_RETURN(const std::vector<EpisodeReport> report_N,
                     SampledReports(policy_, tasks, evaluation.num_generations, Purpose::kEvaluationSampling, step));
    return HeldOutScores(tasks, greedy_P, report_N);
  };
  ASSIGN_OR_RETURN(const std::vector<HeldOutScore> mine, AgreeOk(run_.comm, measure()));
  ASSIGN_OR_RETURN(const std::vector<HeldOutScore> all, AllgatherRows(run_.comm, std::move(mine)));
  return HeldOutMetrics(run_.config, all);
}

absl::StatusOr<std::string> MemoryWorkload::Transcript(int64_t) {
  const MemoryTask task = HeldOutMemoryTask(run_.config, LastStage(run_.config.memory), 0);
  ASSIGN_OR_RETURN(const std::vector<EpisodeReport> reports, GreedyReports(policy_, {task}));
  return FormatTranscript(task, reports.front());
}

std::vector<StreamTable> MemoryWorkload::EncodeStep(StepRecord part) { return MemoryTables(run_.config, part); }

absl::StatusOr<StepRecord> MemoryWorkload::DecodeStep(const StepTables& step) const {
  RETURN_IF_ERROR(CheckMemoryTables(run_.config, step));
  return ReadMemoryRecord(run_.config, step);
}

void MemoryWorkload::AddMetrics(const AlgorithmConfig&, const StepRecord& record, Metrics* metrics) const {
  AddMemoryMetrics(run_.config, record, metrics);
}

MemoryWorkload::NamedCounts MemoryWorkload::execution_counts() const {
  return {{"encoded_texts", EncoderPolicy::EncodedTexts(*workspace_)}};
}

}  // namespace reprise::rl
