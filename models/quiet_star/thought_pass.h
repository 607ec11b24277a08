#ifndef MODELS_QUIET_STAR_THOUGHT_PASS_H_
#define MODELS_QUIET_STAR_THOUGHT_PASS_H_

// Forward and backward passes of a model that thinks, over texts with thoughts that were sampled before: what the
// thoughts' tokens, the text with them and the text without them are worth to the model, and the gradient of any loss
// of these. One shard at a time; no division into batches and no number of threads changes a bit.
//
// Canonical order of a shard's rows: text by text, its thoughts in their order, then the text.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/parallel/team.h"
#include "models/decoder/decoder.h"
#include "models/quiet_star/thought.h"
#include "models/quiet_star/thought_batch.h"
#include "models/quiet_star/thought_heads.h"
#include "models/quiet_star/thought_sampler.h"

namespace reprise::models {

struct ThoughtNetwork {
  const Decoder& decoder;
  const ThoughtHeads& heads;
};

struct ThoughtPassOptions {
  ThoughtDelimiters delimiters = {};
  int64_t tokens_ahead = 1;  // n_true: text tokens behind each thought that it is to predict
  float temperature = 1;     // of the thoughts' tokens. The text is predicted at temperature 1
  // Factor of the gradient of the delimiters' embeddings (the paper's code takes 100).
  float delimiter_gradient_weight = 1;
  // Of training: drops probabilities of the attention mixing head, by Draw(seed, kThoughtNoise, step, text, 16 + which
  // thought, position, token ahead * heads + head). Null: nothing is dropped, as in evaluations and rewards.
  struct Dropout {
    uint64_t seed = 0, step = 0;
  };
  std::optional<Dropout> dropout = std::nullopt;
  bool divergence_from_reference = false;  // KL(reference || policy), in place of KL(policy || reference)
  bool dispersion = false;                 // whether scores have the dispersion of the attention
};

// The scores of one text of S tokens. T: all tokens of its thoughts, in order. A: the text tokens that its thoughts
// predict, TokensAhead(...) of each thought, in order; where the thoughts of a position are mixed together, each has
// the same scores. M: the distinct positions of its thoughts, ascending. K: its thoughts.
struct ThoughtScores {
  std::vector<float> logprob_T, entropy_T;              // at the temperature, of the whole distribution
  std::vector<float> divergence_T;                      // from the reference's distribution; empty without one
  std::vector<float> mixed_logprob_A, mixed_entropy_A;  // of the text with the thought
  std::vector<uint8_t> mixed_correct_A;                 // whether the token is (one of) the most probable
  std::vector<float> weight_A;                          // the mixing head's weights
  std::vector<float> coherence_K;                       // of each thought; empty without the attention mixing head
  std::vector<float> base_logprob_S, base_entropy_S;    // without thoughts, of text tokens 1 .. S - 1
  std::vector<uint8_t> base_correct_S;
  std::vector<float> dispersion_S;  // of rows 0 .. S - 2 of the text (attention_dispersion.h); empty unless asked for
  std::vector<float> value_M;       // of the state before the thoughts of a position; empty without value function
};

// The gradient of a loss with respect to the scores, of the same sizes, from zeros.
struct ThoughtGradients {
  std::vector<float> dlogprob_T, dentropy_T, ddivergence_T, dmixed_logprob_A, dmixed_entropy_A, dbase_logprob_S,
      dbase_entropy_S, dvalue_M;
};

// The loss of one text (index among the call's texts): reads its scores and writes its gradients, or returns an error
// for numbers that are not finite.
using ThoughtLoss = std::function<absl::Status(int64_t text, const ThoughtScores& scores, ThoughtGradients* gradients)>;
using ThoughtReceiver = std::function<void(int64_t text, const ThoughtScores& scores)>;

// The memory of one thread, reused across calls. max_rows: of a batch (0: no limit; a single thought or text may have
// more). recompute: activation checkpointing. They change no bit.
class ThoughtWorkspace {
 public:
  ThoughtWorkspace(const DecoderConfig& config, int64_t max_rows, bool recompute, const Team& team);
  ~ThoughtWorkspace();
  int64_t activation_bytes() const;

  struct Room;
  Room& room() { return *room_; }

 private:
  std::unique_ptr<Room> room_;
};

// Calls `receive` for every text, in order: the bits that the loss of AccumulateThoughts sees.
void ScoreThoughts(const ThoughtNetwork& network, absl::Span<const ThoughtfulText> texts,
                   const ThoughtPassOptions& options, const ThoughtReceiver& receive, ThoughtWorkspace* work);

// Returns for each text the behaviour_logprobs of its thoughts' tokens, in order: those of sampling, bit for bit.
std::vector<std::vector<float>> ScoreThoughtBehaviour(const ThoughtNetwork& network,
                                                      absl::Span<const ThoughtfulText> texts,
                                                      const ThoughtPassOptions& options,
                                                      const ThoughtSampling& sampling, ThoughtWorkspace* work);

// count_LE[l, e] += how often the rows chose expert e in layer l.
void CountThoughtExperts(const ThoughtNetwork& network, absl::Span<const ThoughtfulText> texts,
                         const ThoughtPassOptions& options, absl::Span<int64_t> count_LE, ThoughtWorkspace* work);

struct ThoughtPassInput {
  const Decoder* reference = nullptr;    // of the same shape; null: no divergences
  const AuxiliaryGradient& auxiliary_E;  // of load balancing; empty: none
  const ThoughtLoss& loss;
};

struct ThoughtPassTarget {
  float* total = nullptr;                            // layout.total floats
  float* open = nullptr;                             // as many; null only if the workspace has no limit of rows
  std::function<void(int spec)> finished = nullptr;  // called for each tensor when its gradient is final; may be null
};

struct ThoughtPassResult {
  std::vector<double> probability_sum_E;  // of load balancing (SumProbabilities), over all rows; empty without it
  std::vector<float> largest_logit_LH;    // Activations::largest_logit_LH, of all rows
  int64_t text_rows = 0, thought_rows = 0, batches = 0, cut_texts = 0;
};

// Computes the gradient of a shard: assigns all of target.total. Losses are called in order of texts; returns the first
// error, and the gradient is then incomplete.
absl::StatusOr<ThoughtPassResult> AccumulateThoughts(const ThoughtNetwork& network,
                                                     absl::Span<const ThoughtfulText> texts,
                                                     const ThoughtPassOptions& options, const ThoughtPassInput& input,
                                                     const ThoughtPassTarget& target, ThoughtWorkspace* work);

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_THOUGHT_PASS_H_
