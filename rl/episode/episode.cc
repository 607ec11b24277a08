#include "rl/episode/episode.h"

#include "core/status/check.h"

namespace reprise::rl {
namespace {

template <typename T>
void Append(const std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

int64_t NumActionTokens(const Episode& episode) {
  int64_t tokens = 0;
  for (const Turn& turn : episode.turns) tokens += static_cast<int64_t>(turn.action_tokens.size());
  return tokens;
}

int64_t NumObservationTokens(const Episode& episode) {
  int64_t tokens = 0;
  for (const Turn& turn : episode.turns) tokens += static_cast<int64_t>(turn.observation_tokens.size());
  return tokens;
}

std::vector<int32_t> Tokens(const Episode& episode) {
  std::vector<int32_t> tokens;
  for (const Turn& turn : episode.turns) {
    Append(turn.observation_tokens, &tokens);
    Append(turn.action_tokens, &tokens);
  }
  return tokens;
}

std::vector<uint8_t> ActionMask(const Episode& episode) {
  std::vector<uint8_t> mask;
  for (const Turn& turn : episode.turns) {
    mask.insert(mask.end(), turn.observation_tokens.size(), 0);
    mask.insert(mask.end(), turn.action_tokens.size(), 1);
  }
  return mask;
}

std::vector<double> OldLogprobs(const Episode& episode) {
  std::vector<double> logprobs;
  for (const Turn& turn : episode.turns) {
    CHECK_EQ(turn.action_logprobs.size(), turn.action_tokens.size());
    logprobs.insert(logprobs.end(), turn.observation_tokens.size(), 0.0);
    Append(turn.action_logprobs, &logprobs);
  }
  return logprobs;
}

std::vector<double> ActionLogprobs(const Episode& episode) {
  std::vector<double> logprobs;
  for (const Turn& turn : episode.turns) Append(turn.action_logprobs, &logprobs);
  return logprobs;
}

}  // namespace reprise::rl
