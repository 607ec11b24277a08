#include "rl/record/completions/record_turns.h"

#include <algorithm>

namespace reprise::rl {
namespace {

// A turn that was truncated before the environment could reply still counts as a turn.
double RewardOfTurn(const TurnRecord& turn, double turn_reward) {
  return turn_reward + (turn.reply ? turn.reply->reward : 0.0);
}

}  // namespace

Decisions MakeDecisions(const CompletionEpisode& episode) {
  Decisions decisions;
  decisions.count = static_cast<int64_t>(episode.tokens.size());
  if (episode.turn_K.empty()) return decisions;
  decisions.turns = static_cast<int64_t>(episode.turn_K.size());
  bool observes = false, leaves_out = false;
  for (size_t k = 0; k < episode.turn_K.size(); ++k) {
    const TurnRecord& turn = episode.turn_K[k];
    const size_t tokens = static_cast<size_t>(turn.observation_tokens + turn.action_tokens);
    decisions.turn_T.insert(decisions.turn_T.end(), tokens, static_cast<int32_t>(k));
    for (std::vector<uint8_t>* mask_T : {&decisions.drawn_T, &decisions.learned_T}) {
      mask_T->insert(mask_T->end(), static_cast<size_t>(turn.observation_tokens), 0);
      mask_T->insert(mask_T->end(), static_cast<size_t>(turn.action_tokens), 1);
    }
    observes |= turn.observation_tokens > 0;
    if (!turn.check) continue;
    const auto action = decisions.learned_T.end() - turn.action_tokens;
    std::fill(action, action + turn.check->learned_begin, uint8_t{0});
    std::fill(action + turn.check->learned_end, decisions.learned_T.end(), uint8_t{0});
    leaves_out |= turn.check->learned_end - turn.check->learned_begin < turn.action_tokens;
  }
  if (!observes) decisions.drawn_T.clear();
  if (!observes && !leaves_out) decisions.learned_T.clear();
  return decisions;
}

bool EndedByEnvironment(const CompletionEpisode& episode) {
  if (episode.turn_K.empty() || !episode.turn_K.back().reply) return false;
  const Reply& last = *episode.turn_K.back().reply;
  return last.done && !last.truncated;
}

double EnvironmentReward(const CompletionEpisode& episode, double turn_reward) {
  double reward = 0;
  for (const TurnRecord& turn : episode.turn_K) reward += RewardOfTurn(turn, turn_reward);
  return reward;
}

std::vector<double> EnvironmentRewardByToken(const CompletionEpisode& episode, double turn_reward) {
  std::vector<double> reward_T(episode.tokens.size(), 0.0);
  int64_t begin = 0;
  for (const TurnRecord& turn : episode.turn_K) {
    begin += turn.observation_tokens;
    const bool learns_part = turn.check && turn.check->learned_end > turn.check->learned_begin;
    const int64_t end = begin + (learns_part ? turn.check->learned_end : turn.action_tokens);
    if (end > 0) reward_T[end - 1] += RewardOfTurn(turn, turn_reward);
    begin += turn.action_tokens;
  }
  return reward_T;
}

}  // namespace reprise::rl
