#ifndef RL_RECORD_COMPLETIONS_RECORD_TURNS_H_
#define RL_RECORD_COMPLETIONS_RECORD_TURNS_H_

// What follows from an episode's tokens and turns.

#include <vector>

#include "rl/record/completions/completion_record.h"
#include "rl/record/decisions.h"

namespace reprise::rl {

// Returns which of the episode's tokens are the policy's, which of these are learned, and their turns. All tokens of an
// episode without turns are the policy's, and learned; observations, and the tokens of checked actions that ActionCheck
// leaves out, are not learned. Every source of episodes sets EpisodeRecord::decisions to this.
Decisions MakeDecisions(const CompletionEpisode& episode);

// Returns whether the environment ended the episode by its rules, not by a limit.
bool EndedByEnvironment(const CompletionEpisode& episode);

// Returns the sum of the environment's rewards, plus turn_reward for every turn, including a truncated turn without a
// reply.
double EnvironmentReward(const CompletionEpisode& episode, double turn_reward);

// Returns the same rewards by token: each turn's reward is at the last learned token of its action, or at the action's
// last token where none of it is learned; other tokens have 0.
std::vector<double> EnvironmentRewardByToken(const CompletionEpisode& episode, double turn_reward);

}  // namespace reprise::rl

#endif  // RL_RECORD_COMPLETIONS_RECORD_TURNS_H_
