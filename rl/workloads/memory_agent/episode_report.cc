#include "rl/workloads/memory_agent/episode_report.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status/check.h"
#include "kernels/sums/sums.h"
#include "rl/workloads/memory_agent/section/memory_section.h"
#include "rl/workloads/memory_agent/simulated_episode.h"

namespace reprise::rl {
namespace {

// Returns what each operation earns beside its composite reward.
double BonusPerOperation(const MemoryConfig& memory, const MemoryTask& task, const SimulatedEpisode& episode) {
  if (const std::optional<FactsAnswer> answer = episode.Answer()) {
    return answer->is_correct() && memory.reward != MemoryReward::kAgemem ? memory.answer_reward : 0;
  }
  if (task.stage < kMemoryStages) return 0;
  return RecallBonus(episode.CountRecalled(), kRecallWanted, memory.recall_bonus, episode.num_steps());
}

}  // namespace

std::vector<double> EpisodeReport::earned_T() const {
  std::vector<double> earned_T;
  for (const DecisionReport& decision : decision_T) earned_T.push_back(decision.earned);
  return earned_T;
}

int64_t EpisodeReport::num_failed() const {
  return std::count_if(decision_T.begin(), decision_T.end(),
                       [](const DecisionReport& decision) { return !decision.result.succeeded; });
}

bool EpisodeReport::is_correct() const { return answer ? answer->is_correct() : num_failed() == 0; }

OperationRewardOptions MakeOperationRewardOptions(const MemoryConfig& memory) {
  return {.mode = memory.reward_mode,
          .task_weight = memory.task_weight,
          .efficiency_weight = memory.efficiency_weight,
          .quality_weight = memory.quality_weight,
          .success = memory.success_reward,
          .failure = memory.failure_reward,
          .max_latency_ms = memory.max_latency,
          .optimal_latency_ms = memory.optimal_latency,
          .optimal_retrieved = static_cast<double>(memory.optimal_retrieved),
          .summary_ratio = memory.summary_ratio,
          .filter_ratio = memory.filter_ratio};
}

EpisodeReport ReportEpisode(const MemoryConfig& memory, uint64_t seed, const MemoryTask& task, uint64_t sample,
                            absl::Span<const data::MemoryOperation> operation_T) {
  const OperationRewardOptions options = MakeOperationRewardOptions(memory);
  SimulatedEpisode episode(memory, seed, task, sample);
  EpisodeReport report;
  for (const data::MemoryOperation operation : operation_T) {
    DecisionReport& decision = report.decision_T.emplace_back();
    decision.state = episode.StateText();
    decision.result = episode.Act(operation);
    decision.reward = ComputeReward(decision.result, options);
    decision.event = episode.event();
  }
  CHECK(episode.is_over());
  const int64_t steps = episode.num_steps();
  const double share = BonusPerOperation(memory, task, episode);
  report.answer = episode.Answer();
  if (!report.answer) report.recall_bonus = share * static_cast<double>(steps);
  for (DecisionReport& decision : report.decision_T) decision.earned = decision.reward.composite + share;
  report.outcome = episode.Outcome();
  report.outcome_reward =
      ComputeReward(report.outcome, {.context_capacity = memory.context_window, .most_operations = memory.max_rounds});
  report.has_one_reward = memory.reward == MemoryReward::kAgemem;
  report.reward = report.has_one_reward ? report.outcome_reward.total
                                        : kernels::TreeSum(report.earned_T()) / static_cast<double>(steps);
  return report;
}

namespace {

// Returns the last line of a transcript: the episode's reward, and what it consists of.
std::string RewardLine(const MemoryTask& task, const EpisodeReport& report) {
  std::string line = absl::StrFormat("  reward %.4f", report.reward);
  if (report.has_one_reward) {
    const OutcomeReward& parts = report.outcome_reward;
    absl::StrAppendFormat(&line, ": a third of answer %.3f, context %.3f and memory %.3f, and penalties of %.1f",
                          parts.task, parts.context, parts.memory, parts.penalty);
  } else if (task.stage == kMemoryStages && !report.answer) {
    absl::StrAppendFormat(&line,
                          ", the mean of the operations', in which a bonus of %.3f for what the memory knows at "
                          "the end is divided equally",
                          report.recall_bonus);
  }
  return line + "\n";
}

}  // namespace

std::string FormatTranscript(const MemoryTask& task, const EpisodeReport& report) {
  std::string text =
      absl::StrFormat("stage %d, %d operations, about \"%s\"", task.stage, report.decision_T.size(), task.query());
  if (task.stage == kMemoryStages) absl::StrAppend(&text, "; plan: ", kPlans[task.plan]);
  text += '\n';
  for (size_t t = 0; t < report.decision_T.size(); ++t) {
    const DecisionReport& decision = report.decision_T[t];
    absl::StrAppend(&text, "  state  ", decision.state, "\n");
    absl::StrAppendFormat(&text, "  %5d  %-8s  %s\n", t + 1,
                          absl::AsciiStrToUpper(data::NameOf(decision.result.operation)), decision.event);
    absl::StrAppendFormat(&text, "         %s %.3f: %s, %.1f ms, efficiency %.3f, quality %.3f\n",
                          report.has_one_reward ? "by itself" : "reward",
                          report.has_one_reward ? decision.reward.composite : decision.earned,
                          decision.result.succeeded ? "succeeded" : "failed", decision.result.latency_ms,
                          decision.reward.efficiency, decision.reward.quality);
  }
  if (report.answer) {
    absl::StrAppendFormat(
        &text, "  asked    %s\n  answered %s: %s\n", report.answer->question,
        report.answer->answered.empty() ? "nothing" : report.answer->answered,
        report.answer->is_correct() ? "correct" : absl::StrCat("wrong, it is ", report.answer->expected));
  }
  return text + RewardLine(task, report);
}

}  // namespace reprise::rl
