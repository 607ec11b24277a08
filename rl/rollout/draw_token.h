#ifndef RL_ROLLOUT_DRAW_TOKEN_H_
#define RL_ROLLOUT_DRAW_TOKEN_H_

// One token of an action from its logits, and what it was drawn with: the options of the sampling, and before
// min_new_tokens a distribution without the end tokens.

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/sampling/sampling.h"
#include "rl/rollout/generate.h"

namespace reprise::rl {

// Token number `at` of its action. uniform in [0, 1). The logits of the vocabulary are overwritten. Log-probability and
// entropy are of the whole distribution.
kernels::SampledToken DrawToken(const GenerateOptions& options, int64_t at, double uniform, absl::Span<float> logits,
                                kernels::SamplingWorkspace* workspace);

// The behaviour_logprob that DrawToken tells of the token, the same bits; -infinity for one that it never draws.
float BehaviourLogprob(const GenerateOptions& options, int64_t at, int32_t token, absl::Span<float> logits,
                       kernels::SamplingWorkspace* workspace);

}  // namespace reprise::rl

#endif  // RL_ROLLOUT_DRAW_TOKEN_H_
