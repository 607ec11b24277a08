#include "tests/golden/sequence_scores.h"

#include "tests/golden/golden_model.h"

namespace reprise::golden {

models::ScoredRows NextTokens(const std::vector<std::vector<int32_t>>& sequences) {
  models::ScoredRows rows;
  int64_t row = 0;
  for (const std::vector<int32_t>& tokens : sequences) {
    for (size_t t = 1; t < tokens.size(); ++t) rows.Add(row + static_cast<int64_t>(t) - 1, &tokens[t], 1);
    row += static_cast<int64_t>(tokens.size());
  }
  return rows;
}

SequenceScores Score(const models::Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences,
                     float temperature) {
  SequenceScores scores = {models::Activations(decoder.config, /*training=*/true), NextTokens(sequences), {}};
  models::Forward(decoder, Pack(sequences), nullptr, &scores.activations);
  models::ScoreForward(decoder, scores.activations, scores.rows, temperature, &scores.buffers);
  return scores;
}

}  // namespace reprise::golden
