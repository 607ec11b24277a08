#include "rl/workloads/memory_agent/memory_metrics.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/memory/operation.h"
#include "kernels/sums/sums.h"
#include "rl/evaluation/scores/scores.h"
#include "rl/workload/workload.h"
#include "rl/workloads/memory_agent/memory_record.h"
#include "rl/workloads/memory_agent/operation_reward.h"
#include "rl/workloads/memory_agent/section/memory_section.h"

namespace reprise::rl {
namespace {

double Mean(const std::vector<double>& values) {
  return kernels::TreeSum(values) / static_cast<double>(std::max<size_t>(1, values.size()));
}

double Share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole));
}

void AddStageMetrics(int stage, bool has_samples, absl::Span<const HeldOutScore> scores, Metrics* metrics) {
  std::vector<double> greedy, sampled;
  HeldOutScore sum;
  for (const HeldOutScore& score : scores) {
    if (score.stage != stage) continue;
    greedy.push_back(score.greedy_reward);
    sampled.push_back(score.reward);
    sum.greedy_operations += score.greedy_operations;
    sum.greedy_failed += score.greedy_failed;
    sum.operations += score.operations;
    sum.failed += score.failed;
  }
  const std::string prefix = absl::StrCat("eval_stage", stage, "_");
  metrics->emplace_back(prefix + "greedy_failed_operations", Share(sum.greedy_failed, sum.greedy_operations));
  metrics->emplace_back(prefix + "greedy_reward", Mean(greedy));
  if (!has_samples) return;
  metrics->emplace_back(prefix + "failed_operations", Share(sum.failed, sum.operations));
  metrics->emplace_back(prefix + "reward", Mean(sampled));
}

}  // namespace

void AddMemoryMetrics(const Config& config, const StepRecord& record, Metrics* metrics) {
  std::vector<double> task, efficiency, quality, composite, bonus, discounted;
  std::array<int64_t, data::kMemoryOperationCount> chosen = {};
  int64_t failed = 0, answered = 0;
  for (const EpisodeRecord& episode : record.episode_N) {
    const EpisodeReport report = RebuildReport(config, FindTask(record.task_P, episode), episode);
    for (const DecisionReport& decision : report.decision_T) {
      task.push_back(decision.reward.task);
      efficiency.push_back(decision.reward.efficiency);
      quality.push_back(decision.reward.quality);
      composite.push_back(decision.reward.composite);
      ++chosen[static_cast<size_t>(decision.result.operation)];
    }
    failed += report.num_failed();
    answered += report.answer && report.answer->is_correct() ? 1 : 0;
    bonus.push_back(report.recall_bonus);
    discounted.push_back(DiscountedReward(report.earned_T()));
  }
  const int64_t decisions = static_cast<int64_t>(task.size());
  for (size_t number = 0; number < chosen.size(); ++number) {
    metrics->emplace_back(absl::StrCat("memory/actions/", data::kMemoryOperationNames[number]),
                          Share(chosen[number], decisions));
  }
  const int64_t episodes = static_cast<int64_t>(record.episode_N.size());
  if (HasFacts(config.memory)) metrics->emplace_back("memory/accuracy", Share(answered, episodes));
  metrics->emplace_back("memory/composite", Mean(composite));
  metrics->emplace_back("memory/discounted_reward", Mean(discounted));
  metrics->emplace_back("memory/efficiency", Mean(efficiency));
  metrics->emplace_back("memory/failed_operations", Share(failed, decisions));
  metrics->emplace_back("memory/operations", Share(decisions, episodes));
  metrics->emplace_back("memory/quality", Mean(quality));
  metrics->emplace_back("memory/recall_bonus", Mean(bonus));
  metrics->emplace_back("memory/stage", static_cast<double>(StageOfStep(config.memory, record.step)));
  metrics->emplace_back("memory/task", Mean(task));
}

int LastStage(const MemoryConfig& memory) { return StageOfStep(memory, std::numeric_limits<int64_t>::max()); }

MemoryTask HeldOutMemoryTask(const Config& config, int stage, int64_t index) {
  const int64_t prompt = (stage - 1) * config.evaluation.num_prompts + index;
  return DrawMemoryTask(static_cast<uint64_t>(config.run.seed), Purpose::kEvaluationTask, stage, /*step=*/0,
                        static_cast<uint64_t>(prompt), HasFacts(config.memory));
}

std::vector<MemoryTask> HeldOutMemoryTasks(const Config& config, int rank, int ranks) {
  const int64_t of_stage = config.evaluation.num_prompts, all = of_stage * kMemoryStages;
  std::vector<MemoryTask> tasks;
  for (int64_t i = FirstPromptOfShard(all, ranks, rank); i < FirstPromptOfShard(all, ranks, rank + 1); ++i) {
    tasks.push_back(HeldOutMemoryTask(config, static_cast<int>(i / of_stage) + 1, i % of_stage));
  }
  return tasks;
}

std::vector<HeldOutScore> HeldOutScores(absl::Span<const MemoryTask> task_P, absl::Span<const EpisodeReport> greedy_P,
                                        absl::Span<const EpisodeReport> report_N) {
  CHECK_EQ(greedy_P.size(), task_P.size());
  const size_t samples = task_P.empty() ? 0 : report_N.size() / task_P.size();
  std::vector<HeldOutScore> scores;
  for (size_t p = 0; p < task_P.size(); ++p) {
    HeldOutScore score = {.stage = task_P[p].stage,
                          .greedy_reward = greedy_P[p].reward,
                          .greedy_operations = static_cast<int64_t>(greedy_P[p].decision_T.size()),
                          .greedy_failed = greedy_P[p].num_failed(),
                          .greedy_correct = greedy_P[p].is_correct() ? 1 : 0};
    std::vector<double> rewards;
    for (const EpisodeReport& report : report_N.subspan(p * samples, samples)) {
      rewards.push_back(report.reward);
      score.operations += static_cast<int64_t>(report.decision_T.size());
      score.failed += report.num_failed();
      score.correct += report.is_correct() ? 1 : 0;
    }
    score.reward = Mean(rewards);
    scores.push_back(score);
  }
  return scores;
}

Metrics HeldOutMetrics(const Config& config, absl::Span<const HeldOutScore> scores) {
  const int64_t samples = config.evaluation.num_generations;
  std::vector<ProblemScore> problems;
  for (const HeldOutScore& score : scores) {
    if (score.stage != LastStage(config.memory)) continue;
    problems.push_back({.prompt = static_cast<int64_t>(problems.size()),
                        .greedy_correct = score.greedy_correct,
                        .greedy_reward = score.greedy_reward,
                        .correct = score.correct,
                        .reward = score.reward,
                        .tokens = score.operations});
  }
  Metrics metrics = ScoreMetrics(problems, samples);
  for (int stage = 1; stage <= kMemoryStages; ++stage) AddStageMetrics(stage, samples > 0, scores, &metrics);
  std::sort(metrics.begin(), metrics.end());
  return metrics;
}

}  // namespace reprise::rl
