#include "rl/workloads/memory_agent/play.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

// The distinct states before the next operations of episodes, in order of first appearance.
struct Round {
  std::vector<size_t> episode_R;  // those that are not over
  std::vector<size_t> state_R;    // the index of each one's state
  std::vector<std::vector<int32_t>> token_US;
};

absl::StatusOr<Round> NextRound(const PlayDeps& parts, const std::vector<SimulatedEpisode>& episode_N) {
  Round round;
  std::map<std::string, size_t> index_of;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    if (episode_N[n].is_over()) continue;
    const std::string state = episode_N[n].StateText();
    const auto [found, is_new] = index_of.try_emplace(state, round.token_US.size());
    if (is_new) {
      ASSIGN_OR_RETURN(std::vector<int32_t> tokens,
                       TokensOfState(parts.tokenizer, parts.policy.encoder().max_position_embeddings, state));
      round.token_US.push_back(std::move(tokens));
    }
    round.episode_R.push_back(n);
    round.state_R.push_back(found->second);
  }
  return round;
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> TokensOfState(const models::Tokenizer& tokenizer, int64_t positions,
                                                   absl::string_view state) {
  absl::StatusOr<std::vector<int32_t>> tokens = tokenizer.Encode(state);
  if (!tokens.ok()) return WithContext(tokens.status(), absl::StrCat("the state \"", state, "\""));
  if (tokens->empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the state \"", state, "\" has no tokens, so it cannot be encoded"));
  }
  tokens->resize(std::min(tokens->size(), static_cast<size_t>(positions)));
  return tokens;
}

absl::StatusOr<std::vector<PlayedEpisode>> Play(const PlayDeps& parts, absl::Span<const EpisodePlace> place_N,
                                                const ChooseOperation& choose) {
  constexpr size_t kActions = data::kMemoryOperationCount;
  std::vector<SimulatedEpisode> episode_N;
  episode_N.reserve(place_N.size());
  for (const EpisodePlace& place : place_N) {
    episode_N.emplace_back(parts.config.memory, static_cast<uint64_t>(parts.config.run.seed), *place.task,
                           place.sample);
  }
  std::vector<PlayedEpisode> played_N(place_N.size());
  while (true) {
    ASSIGN_OR_RETURN(const Round round, NextRound(parts, episode_N));
    if (round.episode_R.empty()) break;
    std::vector<float> logit_UA;
    if (parts.computes_logits) {
      ASSIGN_OR_RETURN(logit_UA, parts.policy.Logits(round.token_US, parts.workspace, parts.dropout));
    }
    for (size_t r = 0; r < round.episode_R.size(); ++r) {
      const size_t n = round.episode_R[r], state = round.state_R[r];
      const absl::Span<const float> logit_A = absl::MakeConstSpan(logit_UA).subspan(
          parts.computes_logits ? state * kActions : 0, parts.computes_logits ? kActions : 0);
      const DrawnOperation drawn = choose(n, episode_N[n], logit_A);
      episode_N[n].Act(drawn.operation);
      played_N[n].operation_T.push_back(drawn.operation);
      played_N[n].token_TS.push_back(round.token_US[state]);
      played_N[n].logprob_T.push_back(drawn.logprob);
      played_N[n].behaviour_logprob_T.push_back(drawn.behaviour_logprob);
    }
  }
  return played_N;
}

}  // namespace reprise::rl
