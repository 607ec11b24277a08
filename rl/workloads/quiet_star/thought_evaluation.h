#ifndef RL_WORKLOADS_QUIET_STAR_THOUGHT_EVALUATION_H_
#define RL_WORKLOADS_QUIET_STAR_THOUGHT_EVALUATION_H_

// The metrics of an evaluation: those of every workload (rl/evaluation/scores/scores.h), whose answer is correct if all
// of its tokens are the most probable ones with the text before them and its thoughts, and whose reward is how much
// more log-probable thoughts make the answer; and the comparison of thinking with not thinking, over answers' tokens:
//   eval_thoughts/accuracy, accuracy_without   share of tokens that are the most probable ones: mean over texts
//   eval_thoughts/gain     their difference; with a 95% interval over texts, gain_low and gain_high
//   eval_thoughts/loss, loss_without   mean over texts of the mean of -log p
// Of sampled thoughts, or where none are sampled of the greedy ones.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/comm/communicator.h"
#include "rl/evaluation/scores/anti_theater.h"
#include "rl/evaluation/scores/scores.h"
#include "rl/record/record_schema.h"
#include "rl/workloads/quiet_star/foresight.h"

namespace reprise::rl {

// What one held-out text showed. Plain data: sent between ranks as bytes.
struct HeldOutThoughts {
  ProblemScore score = {};
  double accuracy = 0, accuracy_without = 0;
  double loss = 0, loss_without = 0;
  double coherence = 0;  // CoherenceOf: mean over the sampled thoughts, or over the greedy ones where none are sampled
};

// Returns what the predictions of a text's answer show. sample_G may be empty. tokens: of all sampled thoughts. Pure.
HeldOutThoughts SummarizeHeldOut(int64_t prompt, const Prediction& without, const Prediction& greedy,
                                 absl::Span<const Prediction> sample_G, int64_t tokens);

// Returns how coherent the model finds a thought: the geometric mean of its tokens' probabilities. Pure.
double CoherenceOf(absl::Span<const float> logprob_T);

// Returns the metrics above, sorted by name, of all texts in order, of which there is at least one. samples: of each.
// Pure.
Metrics HeldOutMetrics(absl::Span<const HeldOutThoughts> text_P, int64_t samples);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_THOUGHT_EVALUATION_H_
