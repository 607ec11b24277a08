#ifndef RL_WORKLOADS_COMPLETIONS_SECTION_ENVIRONMENT_SECTION_H_
#define RL_WORKLOADS_COMPLETIONS_SECTION_ENVIRONMENT_SECTION_H_

#include "core/config/field_list.h"

namespace reprise::rl {

// The tokens of a turn that are learned.
enum class LearnedTokens { kAll, kAction };
// What becomes of an episode without a valid action.
enum class InvalidEpisodes { kKeep, kDrop };
// What a scene is described by: words, or numbers of its features.
enum class ObservationForm { kText, kFeatures };

struct EnvironmentConfig {
  std::string name = "";  // "": none, completions are answers
  int64_t max_turns = 5;
  int64_t max_action_length = 0;  // 0: no separate limit
  std::string stop = "";          // "": none
  double turn_reward = 0;
  int64_t largest = 16;
  int64_t numbers = 3;
  int64_t kinds = 4;
  LearnedTokens action_mask = LearnedTokens::kAll;
  int64_t min_action_tokens = 10;
  int64_t max_action_tokens = 100;
  InvalidEpisodes invalid_episodes = InvalidEpisodes::kKeep;
  ObservationForm observation = ObservationForm::kText;
  int64_t feature_bins = 1024;
  int64_t max_tool_calls = 0;  // 0: no bound
  std::string tool_call_refusal = "no tool calls left\n";

  bool operator==(const EnvironmentConfig&) const = default;
};

struct ProcessConfig {
  std::string command = "";  // "": none

  bool operator==(const ProcessConfig&) const = default;
};

// Lists the keys of [environment].
void VisitEnvironment(config::FieldList& list, EnvironmentConfig& environment, const config::Condition& scope);

// Returns whether training finds actions in the policy's text and checks them.
inline bool ChecksActions(const EnvironmentConfig& environment) {
  return environment.action_mask != LearnedTokens::kAll || environment.invalid_episodes != InvalidEpisodes::kKeep;
}

// Lists the key of [process].
void VisitProcess(config::FieldList& list, ProcessConfig& process, const config::Condition& scope);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_SECTION_ENVIRONMENT_SECTION_H_
