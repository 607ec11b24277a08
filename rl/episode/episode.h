#ifndef RL_EPISODE_EPISODE_H_
#define RL_EPISODE_EPISODE_H_

// One episode: a prompt, then turns of observation and action, then a reward. A completion of a verifiable task is an
// episode of one turn without an observation.

#include <cstdint>
#include <vector>

namespace reprise::rl {

struct Turn {
  std::vector<int32_t>
      observation_tokens;               // what the environment said before this action; the policy did not draw them
  std::vector<int32_t> action_tokens;   // drawn by the policy, with the end token if it drew one
  std::vector<double> action_logprobs;  // one an action token, of the policy that drew it

  bool operator==(const Turn&) const = default;
};

struct Episode {
  int64_t prompt = 0;  // index within the step
  int64_t sample = 0;  // index within the prompt's group
  std::vector<Turn> turns;
  std::vector<double> rewards_F;  // by reward function; NaN: it could not score this episode
  double advantage = 0.0;
  bool terminated = false;  // the policy or the environment ended it
  bool truncated = false;   // a limit of length or turns did

  bool operator==(const Episode&) const = default;
};

int64_t NumActionTokens(const Episode& episode);
int64_t NumObservationTokens(const Episode& episode);

// The episode as the policy saw it after the prompt: each turn's observation, then its action.
std::vector<int32_t> Tokens(const Episode& episode);

// For each of Tokens(): 1 where the policy drew it, 0 where the environment said it (the loss's mask).
std::vector<uint8_t> ActionMask(const Episode& episode);

// For each of Tokens(): the log-prob of an action's token, 0 (never to be read) for an observation's.
std::vector<double> OldLogprobs(const Episode& episode);

// The log-probs of all actions, turn after turn.
std::vector<double> ActionLogprobs(const Episode& episode);

}  // namespace reprise::rl

#endif  // RL_EPISODE_EPISODE_H_
