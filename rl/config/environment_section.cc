#include "rl/config/environment_section.h"

namespace reprise::rl {
namespace {

using config::Between;

constexpr int64_t kMostTurns = int64_t{1} << 16;
constexpr int64_t kMostTokens = int64_t{1} << 24;

// Of environments whose actions are JSON within text.
void VisitActions(config::FieldList& list, EnvironmentConfig& environment) {
  const EnvironmentConfig defaults;
  list.Name(
      "action_mask", environment.action_mask, {"all", "action"},
      "grid_navigation: which of the policy's tokens are learned; all, or only those of the JSON action, while the "
      "reasoning around it is passed over as observations are.");
  list.UnsaidAt(defaults.action_mask);
  list.Int("min_action_tokens", environment.min_action_tokens, Between(0, kMostTokens),
           "Of action_mask and invalid_episodes: with fewer tokens the text's first object counts as the action only "
           "where it is a valid one or has its keys, and then with less confidence.");
  list.UnsaidAt(defaults.min_action_tokens);
  list.Int("max_action_tokens", environment.max_action_tokens, Between(1, kMostTokens), "And the most.");
  list.UnsaidAt(defaults.max_action_tokens);
  list.Name("invalid_episodes", environment.invalid_episodes, {"keep", "drop"},
            "grid_navigation: whether an episode with an action that is invalid, or that is nowhere found in what was "
            "written, is learned from, or left out of the loss and of the baseline of its group.");
  list.UnsaidAt(defaults.invalid_episodes);
}

void VisitObservations(config::FieldList& list, EnvironmentConfig& environment) {
  const EnvironmentConfig defaults;
  list.Name("observation", environment.observation, {"text", "features"},
            "grid_navigation: what is seen is told in words, or as numbers (docs/environments.md).");
  list.UnsaidAt(defaults.observation);
  list.Int("feature_bins", environment.feature_bins, Between(2, 65536),
           "Observations that are numbers are written as the numbers of bins, of which there are this many.");
  list.UnsaidAt(defaults.feature_bins);
}

void VisitToolCalls(config::FieldList& list, EnvironmentConfig& environment) {
  const EnvironmentConfig defaults;
  list.Int("max_tool_calls", environment.max_tool_calls, Between(0, kMostTurns),
           "Tool calls of an episode, at most: actions of which process says so, movements of grid_navigation. The "
           "environment does not see those beyond it. 0 = they are neither bounded nor counted.");
  list.UnsaidAt(defaults.max_tool_calls);
  list.String("tool_call_refusal", environment.tool_call_refusal,
              "What the policy reads in place of an observation when it calls once more.");
  list.UnsaidAt(defaults.tool_call_refusal);
}

}  // namespace

// Runs without an environment say nothing of it.
void VisitEnvironment(config::FieldList& list, EnvironmentConfig& environment) {
  list.Section("environment", config::Kind::kSemantic,
               "Episodes of several turns: docs/environments.md. Keys after name are read where there is one.");
  list.Name("name", environment.name, {"", "countdown", "grid_navigation", "number_guess", "process"},
            "What answers the policy's actions; process: the program of process.command; empty = nothing does, "
            "completions are answers to their prompts.");
  list.UnsaidAt(std::string());
  list.Int("max_turns", environment.max_turns, Between(1, kMostTurns), "Actions of an episode, at most.");
  list.UnsaidAt(int64_t{5});
  list.Int("max_action_length", environment.max_action_length, Between(0, kMostTokens),
           "Tokens of an action, at most; 0 = as many as rollout.max_completion_length leaves, which bounds all turns "
           "of an episode together, observations included.");
  list.UnsaidAt(int64_t{0});
  list.String("stop", environment.stop,
              "Texts that end an action, besides the end tokens, as a JSON list: '[\"</answer>\", "
              "\"\\n\"]'; the environment does not see them. Empty = none.");
  list.UnsaidAt(std::string());
  list.Double("turn_reward", environment.turn_reward, {.low = -1e9, .high = 1e9},
              "Added to the environment's reward for every turn; less than 0 makes short episodes better.");
  list.UnsaidAt(0.0);
  list.Int("largest", environment.largest, Between(1, 1000000),
           "number_guess: the number is from 1 to this; countdown: the numbers are.");
  list.UnsaidAt(int64_t{16});
  list.Int("numbers", environment.numbers, Between(2, 16), "countdown: how many numbers a task has.");
  list.UnsaidAt(int64_t{3});
  list.Int("kinds", environment.kinds, Between(4, 10),
           "grid_navigation: kinds of things in rooms, which are the choices of an answer.");
  list.UnsaidAt(int64_t{4});
  VisitActions(list, environment);
  VisitObservations(list, environment);
  VisitToolCalls(list, environment);
}

void VisitProcess(config::FieldList& list, ProcessConfig& process) {
  list.Section("process", config::Kind::kSemantic,
               "A program outside of this one, asked by lines of JSON (docs/environments.md): as environment.name "
               "process, as algorithm.reward process, or as both.");
  list.String("command", process.command, "The command, of /bin/sh; every reply is stored with the run.");
  list.UnsaidAt(std::string());
}

}  // namespace reprise::rl
