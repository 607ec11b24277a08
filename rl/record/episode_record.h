#ifndef RL_RECORD_EPISODE_RECORD_H_
#define RL_RECORD_EPISODE_RECORD_H_

// One episode: a prompt, then turns of observation and action, then a reward. A completion of a verifiable task is an
// episode without turns.

#include <any>
#include <cstdint>
#include <optional>
#include <vector>

#include "rl/environment/reply.h"
#include "rl/record/decisions.h"

namespace reprise::rl {

// How the learned tokens of an action were found (rl/environments/grid_navigation/action_mask.h). Stored in artifacts:
// do not change the values.
enum class MaskMethod : uint8_t { kJson, kPattern, kLast, kFailed };

// The check of an action, where actions are checked (rl/episodes/action_checks.h).
struct ActionCheck {
  MaskMethod method = MaskMethod::kFailed;
  bool valid = false;                          // the environment accepts the action
  int64_t learned_begin = 0, learned_end = 0;  // the learned ones of the action's tokens; equal: none

  bool operator==(const ActionCheck&) const = default;
};

// One turn of an episode with an environment.
struct TurnRecord {
  int64_t observation_tokens = 0;  // those of the observation, which precede the action's tokens
  int64_t action_tokens = 0;
  bool complete = false;                  // the action ended by itself, not at a length limit
  std::optional<Reply> reply;             // to the action; none: the episode's length truncated the action
  std::optional<ActionCheck> check = {};  // none: all of the action's tokens are learned

  bool operator==(const TurnRecord&) const = default;
};

struct EpisodeRecord {
  int64_t prompt = 0, sample = 0;
  bool terminated = false;          // ended with an end token, not by length; with turns: by the environment
  std::vector<int32_t> tokens;      // of the policy; with turns: including the observations between them
  std::vector<TurnRecord> turn_K;   // of an episode with an environment; else empty
  Decisions decisions;              // DecisionsOf: what follows from tokens and turns
  bool is_invalid = false;          // ignored by everything that is learned or compared, for what its actions are
  std::any content;                 // what only the workload and its policy understand
  std::vector<float> logprobs;      // one per token, by the policy that drew it, unfiltered; 0 for observations
  std::vector<float> ref_logprobs;  // the same, by the reference model; empty without one
  // The same, under the distribution that the token was drawn from; empty where that is always the policy itself
  // (RecordForm).
  std::vector<float> behaviour_logprobs;
  // The environment's rewards by position, where each is added at the end of its turn (RewardColumns::by_turn).
  std::vector<double> earned_T;
  double process_reward = 0;      // of the reward function `process`, before it is copied to rewards_F
  std::vector<double> rewards_F;  // by reward function; NaN: it could not score the episode
  double reward = 0;              // their weighted sum; NaN where none could
  double advantage = 0;           // where tokens have their own: the mean over learned tokens
};

}  // namespace reprise::rl

#endif  // RL_RECORD_EPISODE_RECORD_H_
