#ifndef RL_WORKLOADS_MEMORY_AGENT_PLAY_H_
#define RL_WORKLOADS_MEMORY_AGENT_PLAY_H_

// Plays episodes of a memory agent together, operation by operation: the states of all that are not over are encoded at
// once, equal ones once.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/policy/encoder/encoder_policy.h"
#include "rl/workloads/memory_agent/behaviour.h"
#include "rl/workloads/memory_agent/simulated_episode.h"

namespace reprise::rl {

// Returns the tokens of a state that the encoder reads: the first `positions` of all. InvalidArgument, naming the
// state, if the tokenizer cannot encode it or has no token for it. Pure.
absl::StatusOr<std::vector<int32_t>> TokensOfState(const models::Tokenizer& tokenizer, int64_t positions,
                                                   absl::string_view state);

struct PlayDeps {
  const Config& config;
  const models::Tokenizer& tokenizer;
  const EncoderPolicy& policy;
  PassWorkspace* workspace;  // of the policy, or of one of the same shape
  bool computes_logits = true;
  std::optional<TextDropout> dropout = std::nullopt;  // for episodes that training learns from
};

struct EpisodePlace {
  const MemoryTask* task = nullptr;
  uint64_t sample = 0;
};

struct PlayedEpisode {
  std::vector<data::MemoryOperation> operation_T;
  std::vector<std::vector<int32_t>> token_TS;
  std::vector<float> logprob_T, behaviour_logprob_T;
};

// Chooses the next operation of an episode, of which it receives the index. logit_A: the policy's; empty
// unless PlayDeps::computes_logits.
using ChooseOperation =
    std::function<DrawnOperation(size_t episode, const SimulatedEpisode& so_far, absl::Span<const float> logit_A)>;

// Returns the episodes, in the order of their places. What is played does not depend on the other places. Errors:
// those of TokensOfState.
absl::StatusOr<std::vector<PlayedEpisode>> Play(const PlayDeps& parts, absl::Span<const EpisodePlace> place_N,
                                                const ChooseOperation& choose);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_PLAY_H_
