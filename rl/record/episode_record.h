#ifndef RL_RECORD_EPISODE_RECORD_H_
#define RL_RECORD_EPISODE_RECORD_H_

// One episode as the algorithm sees it: decisions of the policy, their log-probabilities, and what they earned.

#include <any>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/record/decisions.h"

namespace reprise::rl {

struct EpisodeRecord {
  int64_t prompt = 0, sample = 0;
  bool terminated = false;      // ended by the policy or by its environment, not by a limit
  Decisions decisions;          // what follows from the content: at which positions the policy decides
  bool is_invalid = false;      // ignored by everything that is learned or compared, for what its actions are
  std::any content;             // what only the workload and its policy understand
  std::vector<float> logprobs;  // one per position, by the policy that drew it, unfiltered; 0 for observations
  // Of the distributions that logprobs are of, in nats; 0 for observations. Recorded of tokens.
  std::vector<float> entropies;
  std::vector<float> ref_logprobs;  // log-probabilities by the reference model; empty without one
  // Log-probabilities under the distribution that the decision was drawn from; empty where that is always the policy
  // itself.
  std::vector<float> behaviour_logprobs;
  // The environment's rewards by position, where each is added at the end of its turn (RewardColumns::by_turn).
  std::vector<double> earned_T;
  std::vector<double> rewards_F;  // by reward function; NaN: it could not score the episode
  double reward = 0;              // their weighted sum; NaN where none could
  double advantage = 0;           // where positions have their own: the mean over learned ones
  // By position, where positions have their own; else empty. A workload may record them, for every episode.
  std::vector<double> advantage_T;
};

// Sets logprobs and entropies from the scores of a pass, where a replay has left them to it.
inline void SetIfLacking(absl::Span<const float> logprob_T, absl::Span<const float> entropy_T, EpisodeRecord* episode) {
  if (!episode->logprobs.empty()) return;
  episode->logprobs = OnDrawn(episode->decisions, logprob_T);
  episode->entropies = OnDrawn(episode->decisions, entropy_T);
}

}  // namespace reprise::rl

#endif  // RL_RECORD_EPISODE_RECORD_H_
