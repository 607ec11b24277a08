#ifndef RL_REWARD_REWARD_H_
#define RL_REWARD_REWARD_H_

// Reward functions by name. A reward is a pure function of a completion and its task: it uses no clock, random numbers
// or network.
//   exact_match       1 for exactly the expected answer, ended by the policy itself; else 0
//   character_match   shaped: the share of positions that agree, of the longer of completion and answer

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::rl {

struct Completion {
  absl::string_view prompt;
  absl::string_view answer;  // the expected answer
  absl::string_view text;    // the completion, without the end token
  bool terminated = false;   // whether it ended with an end token, not at the length limit
};

using RewardFunction = double (*)(const Completion& completion);

double ExactMatch(const Completion& completion);
double CharacterMatch(const Completion& completion);

std::vector<absl::string_view> RewardNames();

// Returns InvalidArgument with the nearest name for an unknown one.
absl::StatusOr<RewardFunction> FindReward(absl::string_view name);

// The soft overlong punishment of completions that approach or reach the length limit (DAPO; Yu et al., 2025, arXiv
// 2503.14476, equation 13; TRL's get_soft_overlong_punishment), a reward to be added:
//   0 up to max_completion_length - cache tokens, then linear to -1 at max_completion_length, -1 beyond.
// 0 <= cache <= max_completion_length (checked). Pure.
double SoftOverlongPunishment(int64_t length, int64_t max_completion_length, int64_t soft_punish_cache);

// The missing_eos_penalty of TRL's PPOTrainer: -penalty for a truncated completion, else 0.
double MissingEosPenalty(bool truncated, double penalty);

}  // namespace reprise::rl

#endif  // RL_REWARD_REWARD_H_
