#ifndef TESTS_GOLDEN_SEQUENCE_SCORES_H_
#define TESTS_GOLDEN_SEQUENCE_SCORES_H_

// Scores of whole sequences: every token except the first is a target.

#include <cstdint>
#include <vector>

#include "models/decoder/model.h"
#include "models/decoder/scoring.h"

namespace reprise::golden {

// Returns the rows and targets of Pack(sequences).
models::ScoredRows NextTokens(const std::vector<std::vector<int32_t>>& sequences);

// The forward pass over Pack(sequences) and the scores of NextTokens.
struct SequenceScores {
  models::Activations activations;
  models::ScoredRows rows;
  models::ScoreBuffers buffers;
};
SequenceScores Score(const models::Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences,
                     float temperature);

}  // namespace reprise::golden

#endif  // TESTS_GOLDEN_SEQUENCE_SCORES_H_
