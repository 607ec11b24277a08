#ifndef RL_WORKLOADS_MEMORY_AGENT_SECTION_MEMORY_SECTION_H_
#define RL_WORKLOADS_MEMORY_AGENT_SECTION_MEMORY_SECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/config/field_list.h"

namespace reprise::rl {

// What an episode's operations are drawn from (rl/workloads/memory_agent/behaviour.h).
enum class MemoryBehaviour { kUniform, kPolicy, kGuided, kHeuristic };

// What the episodes of the third stage are about.
enum class MemoryTaskKind { kNotes, kFacts };

// What retrieval compares: words, or hash embeddings.
enum class MemorySimilarity { kKeywords, kCosine };

// Whether each operation is rewarded, or the outcome of an episode.
enum class MemoryReward { kComposite, kAgemem };

// The bounds of an operation's reward (rl/workloads/memory_agent/operation_reward.h).
enum class RewardMode { kClamped, kOriginal };

struct MemoryConfig {
  int64_t stage1_steps = 1000, stage2_steps = 2000, stage3_steps = 3000;
  MemoryBehaviour stage1_behaviour = MemoryBehaviour::kUniform, stage2_behaviour = MemoryBehaviour::kUniform;
  MemoryBehaviour stage3_behaviour = MemoryBehaviour::kPolicy;
  MemoryTaskKind task = MemoryTaskKind::kNotes;
  MemorySimilarity similarity = MemorySimilarity::kKeywords;
  int64_t buffer_size = 20;
  int64_t store_size = 3;
  int64_t context_window = 4096;
  double filter_threshold = 0.5;
  double latency_spread = 1;

  MemoryReward reward = MemoryReward::kComposite;
  RewardMode reward_mode = RewardMode::kClamped;
  double task_weight = 0.5, efficiency_weight = 0.3, quality_weight = 0.2;
  double success_reward = 1, failure_reward = -0.5;
  double max_latency = 1000, optimal_latency = 100;
  int64_t optimal_retrieved = 5;
  double summary_ratio = 0.3, filter_ratio = 0.5;
  double recall_bonus = 0.5;
  double answer_reward = 1;
  int64_t max_rounds = 8;

  bool operator==(const MemoryConfig&) const = default;
};

// The stages of a memory agent's curriculum, 1, 2 and 3, and the number of operations in an episode of a stage.
inline constexpr int kMemoryStages = 3;
struct EpisodeLengths {
  int64_t least = 1, most = 1;
};
inline constexpr EpisodeLengths kLengthsOfStage[kMemoryStages] = {{1, 1}, {2, 4}, {4, 8}};

// The same of an episode of the third stage with memory.task facts.
inline constexpr EpisodeLengths kFactsLengths = {12, 14};
inline constexpr int64_t kFactsLastTalk = 4;         // messages between the last fact and the question
inline constexpr int64_t kFactsLongestMessage = 37;  // characters
inline constexpr int64_t kFactsWindow = 160;         // characters: about as many messages

// Returns whether the episodes of the third stage are about facts. Pure.
bool HasFacts(const MemoryConfig& memory);

// Returns the lengths of episodes of the third stage. Pure.
EpisodeLengths LengthsOfLastStage(const MemoryConfig& memory);

// Lists the keys of [memory].
void VisitMemory(config::FieldList& list, MemoryConfig& memory, const config::Condition& scope);

// Returns whether a run has training steps of the stage. Pure.
bool HasMemoryStage(const MemoryConfig& memory, int stage);

// Returns the stage of a training step, which counts from 1: stages follow each other after their numbers of steps, and
// the last one that has any never ends. Pure.
int StageOfStep(const MemoryConfig& memory, int64_t step);

// Returns the names of the metrics of an evaluation that measure single stages: for each of them the share of
// operations that fail and the mean reward, of the most probable operations and, unless there are none, of sampled
// ones. Pure.
std::vector<std::string> MemoryScoreNames(int64_t samples);

// InvalidArgument, naming the keys, for values that do not go together: no stage has steps, weights that are all 0, an
// optimal latency above the greatest, too many held-out episodes, or facts without a third stage or with a short-term
// memory or a context window that hold them until they are asked for. held_out_prompts: of evaluations, of each stage.
absl::Status CheckMemory(const MemoryConfig& memory, int64_t held_out_prompts);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_SECTION_MEMORY_SECTION_H_
