#include "rl/workloads/memory_agent/section/memory_section.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

using config::AtLeast;
using config::Between;

constexpr int64_t kMostSteps = (int64_t{1} << 32) - 1;
constexpr int64_t kMostPrompts = int64_t{1} << 24;
constexpr config::DoubleRange kWeight = {.low = 1e-6, .high = 1e6, .or_exactly = 0};
constexpr config::DoubleRange kReward = {.low = -1e6, .high = 1e6};
constexpr double kLeastReward = 1e-6;  // in magnitude, other than 0: products with weights are not subnormal
constexpr config::DoubleRange kMilliseconds = {.low = 1, .high = 1e9};  // below, an efficiency would be subnormal
constexpr config::DoubleRange kShare = {.low = 0, .high = 1};

int64_t StepsOfStage(const MemoryConfig& memory, int stage) {
  const int64_t steps_of[] = {memory.stage1_steps, memory.stage2_steps, memory.stage3_steps};
  return steps_of[stage - 1];
}

void VisitCurriculum(config::FieldList& list, MemoryConfig& memory) {
  list.Int("stage1_steps", memory.stage1_steps, Between(0, kMostSteps),
           "Steps of the first stage: one operation on a memory that has texts; 0 = the stage is left out.");
  list.Int("stage2_steps", memory.stage2_steps, Between(0, kMostSteps),
           "Steps of the second stage: 2 to 4 operations on such a memory; 0 = the stage is left out.");
  list.Int("stage3_steps", memory.stage3_steps, Between(0, kMostSteps),
           "Steps of the third stage: 4 to 8 operations, with a plan, on a memory that begins empty; 0 = the stage is "
           "left out. The last stage that has steps continues to the end of the run.");
  const std::vector<absl::string_view> behaviours = {"uniform", "policy", "guided", "heuristic"};
  list.Name("stage1_behaviour", memory.stage1_behaviour, behaviours,
            "What draws the operations of the first stage: uniform, all with the same probability; policy, the policy; "
            "guided, the policy, but where at most two operations are left one of the long-term memory, then one of "
            "the short-term memory, if the episode has none yet; heuristic, by the same rule, else uniform.")
      .ReadIf([&memory] { return HasMemoryStage(memory, 1); }, "memory.stage1_steps above 0");
  list.Name("stage2_behaviour", memory.stage2_behaviour, behaviours,
            "What draws the operations of the second stage, as for the first.")
      .ReadIf([&memory] { return HasMemoryStage(memory, 2); }, "memory.stage2_steps above 0");
  list.Name("stage3_behaviour", memory.stage3_behaviour, behaviours,
            "What draws the operations of the third stage, as for the first.")
      .ReadIf([&memory] { return HasMemoryStage(memory, 3); }, "memory.stage3_steps above 0");
}

void VisitRewards(config::FieldList& list, MemoryConfig& memory) {
  list.Name("reward", memory.reward, {"composite", "agemem"},
            "composite: each operation has a reward, the weighted sum of task, efficiency and quality; agemem: the "
            "episode has one, of its answer, its context and its memory. The record and the metrics have the "
            "operations' rewards in both cases.");
  list.Name("reward_mode", memory.reward_mode, {"clamped", "original"},
            "clamped: efficiency and quality of an operation are within 0 and 1; original: efficiency is up to e for a "
            "latency below optimal_latency, and the quality of a summary that is longer than 1 + summary_ratio times "
            "its input is negative.");
  list.Double("task_weight", memory.task_weight, kWeight, "Weight of an operation's success.");
  list.Double("efficiency_weight", memory.efficiency_weight, kWeight, "Weight of an operation's efficiency.");
  list.Double("quality_weight", memory.quality_weight, kWeight, "Weight of the quality of an operation's result.");
  list.Double("success_reward", memory.success_reward, kReward, "Task reward of an operation that succeeds.");
  list.Double("failure_reward", memory.failure_reward, kReward, "Task reward of an operation that fails.");
  list.Double("max_latency", memory.max_latency, kMilliseconds,
              "Milliseconds from which on the efficiency of an operation is 0.");
  list.Double("optimal_latency", memory.optimal_latency, kMilliseconds,
              "Milliseconds at which the efficiency of an operation is 1: it is exp(1 - latency / optimal_latency).");
  list.Int("optimal_retrieved", memory.optimal_retrieved, Between(1, 1024),
           "Texts that retrieve asks for; as many have quality 1.");
  list.Double("summary_ratio", memory.summary_ratio, kShare, "Length of the best summary, as a share of its input.");
  list.Double("filter_ratio", memory.filter_ratio, {.low = 1e-6, .high = 1},
              "Share of the texts that a filter of quality 1 removes, at least.");
  list.Double("recall_bonus", memory.recall_bonus, kWeight,
              "Reward of an episode of the third stage whose memory has three texts for its query at its end, in equal "
              "parts for all of its operations; 0 = none.")
      .ReadIf([&memory] { return !HasFacts(memory); }, "memory.task notes");
  list.Double(
          "answer_reward", memory.answer_reward, kWeight,
          "With task facts and reward composite: reward of a correct answer, which each of the episode's operations "
          "receives in full beside its own.")
      .ReadIf([&memory] { return HasFacts(memory) && memory.reward == MemoryReward::kComposite; },
              "memory.task facts and memory.reward composite");
  list.Int("max_rounds", memory.max_rounds, Between(1, 1 << 16), "An episode of more operations has a penalty of 1.")
      .ReadIf([&memory] { return memory.reward == MemoryReward::kAgemem; }, "memory.reward agemem");
}

}  // namespace

void VisitMemory(config::FieldList& list, MemoryConfig& memory, const config::Condition& scope) {
  list.Section("memory", config::Kind::kSemantic,
               "A memory agent (run.workload memory_agent): the model of [model] encodes the text of a state, and an "
               "action head chooses add, update, delete, retrieve, summary or filter; the operation acts on a "
               "simulated memory and is rewarded.")
      .OnlyFor(scope);
  VisitCurriculum(list, memory);
  list.Name(
      "task", memory.task, {"notes", "facts"},
      "What episodes of the third stage are about: notes, 4 to 8 operations on ten notes; facts, 12 to 14 messages "
      "that say where things are, with changes and small talk, and at last a question about one of them.");
  list.Name("similarity", memory.similarity, {"keywords", "cosine"},
            "How memories are compared with a query: by the share of its words, or by the cosine of hash embeddings.");
  list.Int("buffer_size", memory.buffer_size, Between(1, 1024),
           "Texts of the short-term memory; the oldest make room for new ones.");
  list.Int("store_size", memory.store_size, Between(1, 1024),
           "Texts of the long-term memory; the oldest makes room for a new one. An episode has up to "
           "three facts at a time.")
      .ReadIf([&memory] { return HasFacts(memory); }, "memory.task facts");
  list.Int("context_window", memory.context_window, AtLeast(1),
           "Characters of the short-term memory that a summary or a filter reads.");
  list.Double("filter_threshold", memory.filter_threshold, kShare,
              "A filter keeps texts that contain at least this share of the query's words.");
  list.Double("latency_spread", memory.latency_spread, kShare,
              "Factor of the spread of simulated latencies; 0 = every operation always takes its mean time.");
  VisitRewards(list, memory);
}

bool HasFacts(const MemoryConfig& memory) { return memory.task == MemoryTaskKind::kFacts; }

EpisodeLengths LengthsOfLastStage(const MemoryConfig& memory) {
  return HasFacts(memory) ? kFactsLengths : kLengthsOfStage[kMemoryStages - 1];
}

bool HasMemoryStage(const MemoryConfig& memory, int stage) { return StepsOfStage(memory, stage) > 0; }

int StageOfStep(const MemoryConfig& memory, int64_t step) {
  int stage = kMemoryStages;
  int64_t end = 0;
  for (int each = 1; each <= kMemoryStages; ++each) {
    if (!HasMemoryStage(memory, each)) continue;
    stage = each;
    end += StepsOfStage(memory, each);
    if (step <= end) break;
  }
  return stage;
}

std::vector<std::string> MemoryScoreNames(int64_t samples) {
  std::vector<std::string> names;
  for (int stage = 1; stage <= kMemoryStages; ++stage) {
    for (const absl::string_view policy : {"greedy_", ""}) {
      if (policy.empty() && samples == 0) continue;
      names.push_back(absl::StrCat("eval_stage", stage, "_", policy, "failed_operations"));
      names.push_back(absl::StrCat("eval_stage", stage, "_", policy, "reward"));
    }
  }
  return names;
}

namespace {

absl::Status CheckFacts(const MemoryConfig& memory) {
  if (!HasFacts(memory)) return absl::OkStatus();
  if (!HasMemoryStage(memory, kMemoryStages)) {
    return absl::InvalidArgumentError(
        "memory.task facts is about the third stage, which memory.stage3_steps 0 leaves out: give it steps");
  }
  if (memory.buffer_size > kFactsLastTalk) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory.buffer_size ", memory.buffer_size,
                     " may hold a fact until it is asked for, so that nothing has to be stored: with memory.task facts "
                     "set it to at most ",
                     kFactsLastTalk));
  }
  if (memory.optimal_retrieved >= memory.buffer_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "memory.optimal_retrieved ", memory.optimal_retrieved, " and memory.buffer_size ", memory.buffer_size,
        ": what retrieve finds best is the first to leave a short-term memory that is full; with memory.task facts set "
        "optimal_retrieved below buffer_size"));
  }
  if (memory.context_window < kFactsLongestMessage) {
    return absl::InvalidArgumentError(absl::StrCat("memory.context_window ", memory.context_window,
                                                   " cuts off messages: with memory.task facts set it to at least ",
                                                   kFactsLongestMessage));
  }
  if (memory.reward == MemoryReward::kAgemem && memory.max_rounds < kFactsLengths.most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "memory.max_rounds ", memory.max_rounds, " is less than the ", kFactsLengths.most,
        " operations that an episode can have with memory.task facts, so that episodes are penalised whatever they do: "
        "set it to at least as many"));
  }
  if (memory.context_window > kFactsWindow) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory.context_window ", memory.context_window,
                     " may hold a summary with a fact until it is asked for, so that nothing has to be stored: with "
                     "memory.task facts set it to at most ",
                     kFactsWindow));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMemory(const MemoryConfig& memory, int64_t held_out_prompts) {
  if (memory.stage1_steps == 0 && memory.stage2_steps == 0 && memory.stage3_steps == 0) {
    return absl::InvalidArgumentError(
        "memory.stage1_steps, stage2_steps and stage3_steps are all 0: give at least one of the stages steps");
  }
  if (memory.task_weight == 0 && memory.efficiency_weight == 0 && memory.quality_weight == 0) {
    return absl::InvalidArgumentError(
        "memory.task_weight, efficiency_weight and quality_weight are all 0, so that every reward is: set at least one "
        "of them");
  }
  for (const double reward : {memory.success_reward, memory.failure_reward}) {
    if (reward == 0 || std::fabs(reward) >= kLeastReward) continue;
    return absl::InvalidArgumentError(absl::StrCat("memory.success_reward or failure_reward is ", reward,
                                                   ": set it to 0, or to at least ", kLeastReward, " in magnitude"));
  }
  if (memory.optimal_latency > memory.max_latency) {
    return absl::InvalidArgumentError(absl::StrCat("memory.optimal_latency ", memory.optimal_latency,
                                                   " is more than memory.max_latency ", memory.max_latency));
  }
  RETURN_IF_ERROR(CheckFacts(memory));
  if (held_out_prompts > kMostPrompts / kMemoryStages) {
    return absl::InvalidArgumentError(
        absl::StrCat("evaluation.num_prompts ", held_out_prompts,
                     " are too many for a memory agent, whose evaluations have as many episodes of each stage: set it "
                     "to at most ",
                     kMostPrompts / kMemoryStages));
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
