#ifndef RL_LEARNER_STEP_RECORD_H_
#define RL_LEARNER_STEP_RECORD_H_

// Everything that a step was: what an artifact stores of it, and what a reproduction compares. It holds nothing that
// depends on ranks, threads, batches, host or time.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/digest/sha256.h"
#include "rl/environment/grid_navigation/action_mask.h"
#include "rl/environment/reply.h"

namespace reprise::rl {

// Stored in artifacts: do not change the values. Steps of each phase count from 1.
enum class Phase : uint8_t { kWarmUp = 0, kTraining = 1 };

struct TaskRecord {
  int64_t prompt = 0;  // index within the step
  std::string text;    // what is asked
  std::string answer;
  std::vector<int32_t> tokens;  // of the text: what the policy sees

  bool operator==(const TaskRecord&) const = default;
};

// What was found in an action, where actions are checked (rl/learner/action_checks.h).
struct ActionCheck {
  grid_navigation::MaskMethod method = grid_navigation::MaskMethod::kFailed;
  bool valid = false;                          // the environment takes the action
  int64_t learned_begin = 0, learned_end = 0;  // of the action's tokens those that are learned; equal: none

  bool operator==(const ActionCheck&) const = default;
};

// One turn of an episode with an environment.
struct TurnRecord {
  int64_t observation_tokens = 0;  // of the episode's tokens, before the action's: what the environment said before it
  int64_t action_tokens = 0;
  bool complete = false;                  // the action ended of itself, not by length
  std::optional<Reply> reply;             // to the action; none: it was cut off where the episode had to end
  std::optional<ActionCheck> check = {};  // none: all of the action's tokens are learned

  bool operator==(const TurnRecord&) const = default;
};

struct EpisodeRecord {
  int64_t prompt = 0, sample = 0;
  bool terminated = false;          // ended with an end token, not by length; of turns: by the environment, no limit
  std::vector<int32_t> tokens;      // of the policy; of turns: with what the environment said between them
  std::vector<TurnRecord> turn_K;   // of an episode with an environment; else none
  std::vector<float> logprobs;      // one a token, by the policy that drew it; 0 where the environment spoke
  std::vector<float> ref_logprobs;  // the same, by the reference model; empty without one
  double process_reward = 0;        // by the reward function process, before it is one of the following
  std::vector<double> rewards_F;    // by reward function
  double reward = 0;                // their weighted sum
  double advantage = 0;             // of the first token, where tokens have advantages of their own
};

struct StepRecord {
  Phase phase = Phase::kTraining;
  int64_t step = 0;
  std::vector<TaskRecord> task_P;
  std::vector<EpisodeRecord> episode_N;                  // by prompt, then sample
  std::vector<int64_t> expert_count_E;                   // rows that chose each expert, over all layers
  std::vector<std::pair<std::string, double>> metrics;   // names as TRL's; sorted by name
  std::vector<Digest> gradient_digests, weight_digests;  // by tensor; empty where the step was not digested
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_RECORD_H_
