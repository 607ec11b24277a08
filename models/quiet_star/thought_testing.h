#ifndef MODELS_QUIET_STAR_THOUGHT_TESTING_H_
#define MODELS_QUIET_STAR_THOUGHT_TESTING_H_

// Small models and texts with thoughts for tests, and their scores in double by obvious code: every thought as a
// sequence of its own.

#include <cstdint>
#include <memory>
#include <vector>

#include "models/quiet_star/thought_model.h"
#include "models/quiet_star/thought_pass.h"

namespace reprise::models::testing {

// Returns a model with thinking tokens and random parameters, heads included, refreshed.
std::unique_ptr<ThoughtModel> RandomThoughtModel(const DecoderConfig& config, const ThoughtHeadsShape& shape,
                                                 uint64_t seed);

// Texts of some tokens with thoughts at some positions.
class ThoughtExamples {
 public:
  ThoughtExamples(const DecoderConfig& config, const std::vector<int64_t>& lengths);

  absl::Span<const ThoughtfulText> texts() const { return texts_; }

 private:
  std::vector<std::vector<int32_t>> tokens_;
  std::vector<std::vector<Thought>> thoughts_;
  std::vector<ThoughtfulText> texts_;
};

// ThoughtScores in double; divergences are left out.
struct ReferenceScores {
  std::vector<double> logprob_T, entropy_T, mixed_logprob_A, mixed_entropy_A, weight_A, base_logprob_S, base_entropy_S,
      value_M, coherence_K;
};

ReferenceScores ReferenceScoresOf(const ThoughtModel& model, const std::vector<double>& parameters,
                                  const ThoughtfulText& text, const ThoughtPassOptions& options);

}  // namespace reprise::models::testing

#endif  // MODELS_QUIET_STAR_THOUGHT_TESTING_H_
