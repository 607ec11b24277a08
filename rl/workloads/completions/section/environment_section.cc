#include "rl/workloads/completions/section/environment_section.h"

namespace reprise::rl {
namespace {

bool HasRooms(const EnvironmentConfig& environment) { return environment.name == "grid_navigation"; }

bool HasTools(const EnvironmentConfig& environment) { return HasRooms(environment) || environment.name == "process"; }

constexpr absl::string_view kEnvironment = "an environment.name";
constexpr absl::string_view kRooms = "environment.name grid_navigation";
constexpr absl::string_view kChecks = "environment.action_mask action or environment.invalid_episodes drop";

using config::Between;

constexpr int64_t kMostTurns = int64_t{1} << 16;
constexpr int64_t kMostTokens = int64_t{1} << 24;

// The keys of environments whose actions are JSON within text.
void VisitActions(config::FieldList& list, EnvironmentConfig& environment) {
  list.Name(
          "action_mask", environment.action_mask, {"all", "action"},
          "grid_navigation: which of the policy's tokens are learned; all, or only those of the JSON action, while the "
          "reasoning around it is masked as observations are.")
      .ReadIf([&environment] { return HasRooms(environment); }, kRooms);
  list.Int("min_action_tokens", environment.min_action_tokens, Between(0, kMostTokens),
           "For action_mask and invalid_episodes: with fewer tokens the text's first object counts as the action only "
           "where it is valid or has an action's keys, and then with less confidence.")
      .ReadIf([&environment] { return ChecksActions(environment); }, kChecks);
  list.Int("max_action_tokens", environment.max_action_tokens, Between(1, kMostTokens),
           "For action_mask and invalid_episodes: the greatest number of tokens, as min_action_tokens is the least.")
      .ReadIf([&environment] { return ChecksActions(environment); }, kChecks);
  list.Name("invalid_episodes", environment.invalid_episodes, {"keep", "drop"},
            "grid_navigation: whether an episode with an action that is invalid, or not found in the policy's text, "
            "is kept, or dropped from the loss and from the baseline of its group.")
      .ReadIf([&environment] { return HasRooms(environment); }, kRooms);
}

void VisitObservations(config::FieldList& list, EnvironmentConfig& environment) {
  list.Name("observation", environment.observation, {"text", "features"},
            "grid_navigation: whether observations are words or numbers (docs/environments.md).")
      .ReadIf([&environment] { return HasRooms(environment); }, kRooms);
  list.Int("feature_bins", environment.feature_bins, Between(2, 65536),
           "The number of bins; numeric observations are written as the numbers of their bins.")
      .ReadIf(
          [&environment] {
            return environment.name == "process" || environment.observation == ObservationForm::kFeatures;
          },
          "environment.name process, or environment.observation features");
}

void VisitToolCalls(config::FieldList& list, EnvironmentConfig& environment) {
  list.Int("max_tool_calls", environment.max_tool_calls, Between(0, kMostTurns),
           "Tool calls of an episode, at most: actions that process reports as such, movements of grid_navigation. "
           "The environment does not receive further ones. 0 = they are neither limited nor counted.")
      .ReadIf([&environment] { return HasTools(environment); }, "environment.name grid_navigation or process");
  list.String("tool_call_refusal", environment.tool_call_refusal,
              "What the policy reads instead of an observation after a further tool call.")
      .ReadIf([&environment] { return HasTools(environment) && environment.max_tool_calls > 0; },
              "environment.max_tool_calls above 0");
}

void VisitKeys(config::FieldList& list, EnvironmentConfig& environment) {
  list.Name("name", environment.name, {"", "countdown", "grid_navigation", "number_guess", "process"},
            "The environment that replies to the policy's actions; process: the external process of process.command; "
            "empty = none, completions are answers to their prompts.");
  list.Int("max_turns", environment.max_turns, Between(1, kMostTurns), "Actions of an episode, at most.")
      .ReadIf([&environment] { return !environment.name.empty(); }, kEnvironment);
  list.Int("max_action_length", environment.max_action_length, Between(0, kMostTokens),
           "Tokens of an action, at most; 0 = as many as rollout.max_completion_length leaves, which limits all turns "
           "of an episode together, observations included.")
      .ReadIf([&environment] { return !environment.name.empty(); }, kEnvironment);
  list.String("stop", environment.stop,
              "Texts that end an action, besides the end tokens, as a JSON list: '[\"</answer>\", "
              "\"\\n\"]'; the environment does not receive them. Empty = none.")
      .ReadIf([&environment] { return !environment.name.empty(); }, kEnvironment);
  list.Double("turn_reward", environment.turn_reward, {.low = -1e9, .high = 1e9},
              "Added to the environment's reward for every turn; a negative value favours short episodes.")
      .ReadIf([&environment] { return !environment.name.empty(); }, kEnvironment);
  list.Int("largest", environment.largest, Between(1, 1000000),
           "number_guess and countdown: numbers are from 1 to this.")
      .ReadIf([&environment] { return environment.name == "number_guess" || environment.name == "countdown"; },
              "environment.name number_guess or countdown");
  list.Int("numbers", environment.numbers, Between(2, 16), "countdown: how many numbers a task has.")
      .ReadIf([&environment] { return environment.name == "countdown"; }, "environment.name countdown");
  list.Int("kinds", environment.kinds, Between(4, 10),
           "grid_navigation: kinds of objects in rooms, which are the choices of an answer.")
      .ReadIf([&environment] { return HasRooms(environment); }, kRooms);
  VisitActions(list, environment);
  VisitObservations(list, environment);
  VisitToolCalls(list, environment);
}

}  // namespace

void VisitEnvironment(config::FieldList& list, EnvironmentConfig& environment, const config::Condition& scope) {
  list.Section("environment", config::Kind::kSemantic,
               "Episodes of several turns: docs/environments.md. Keys after name are read only where it is set.")
      .OnlyFor(scope);
  VisitKeys(list, environment);
}

void VisitProcess(config::FieldList& list, ProcessConfig& process, const config::Condition& scope) {
  list.Section("process", config::Kind::kSemantic,
               "An external process that answers lines of JSON (docs/environments.md): for environment.name "
               "process, for algorithm.reward process, or for both.")
      .OnlyFor(scope);
  list.String("command", process.command, "The command, run by /bin/sh; every reply is stored with the run.");
}

}  // namespace reprise::rl
