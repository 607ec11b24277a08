#ifndef RL_GRADIENT_CORRUPTION_ORIGIN_H_
#define RL_GRADIENT_CORRUPTION_ORIGIN_H_

// Finds the corrupted tensor after a step's numbers were rejected: the rejected number is often only a consequence.

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rl/policy/policy.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

struct OriginSearch {
  const Policy& policy;
  const Policy* reference;  // null: none
  float temperature;        // of sampling
  // Whether the policy still has the weights that sampled, so that training computes the same log-probabilities, bit
  // for bit.
  bool samples_are_own;
};

// Returns `refusal`, the error of an episode, with the corrupted tensor appended: a parameter, a tensor of the forward
// pass, a copy of a parameter (Policy::FindCorruption), of the policy or of the reference; or `logprob` or
// `old_logprob` themselves, where a forward pass of the episode alone computes other values. Returns `refusal`
// unchanged where all of these are intact: then the tensor that it names is corrupted. logprob_T: as training computed
// them; empty: not available. Not collective. Changes nothing and takes the time of a few passes over one sequence.
absl::Status WithOrigin(const OriginSearch& search, const TaskRecord& task, const EpisodeRecord& episode,
                        absl::Span<const float> logprob_T, const absl::Status& refusal);

// Returns `refusal` with what is corrupted appended; unchanged where `origin` is "".
absl::Status WithOrigin(const absl::Status& refusal, absl::string_view origin);

}  // namespace reprise::rl

#endif  // RL_GRADIENT_CORRUPTION_ORIGIN_H_
