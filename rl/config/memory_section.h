#ifndef RL_CONFIG_MEMORY_SECTION_H_
#define RL_CONFIG_MEMORY_SECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/config/field_list.h"
#include "rl/config/config.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

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
void VisitMemory(config::FieldList& list, MemoryConfig& memory, const Conditions& when);

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
// memory or a context window that hold them until they are asked for.
absl::Status CheckMemory(const Config& config);

}  // namespace reprise::rl

#endif  // RL_CONFIG_MEMORY_SECTION_H_
