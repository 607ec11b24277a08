#ifndef MODELS_DECODER_SCORING_H_
#define MODELS_DECODER_SCORING_H_

// The language-model head on top of the decoder's hidden states: log-probabilities of target tokens, and the way back.
// Only rows that predict something enter the head.

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"
#include "kernels/lm_head/lm_head.h"
#include "models/decoder/decoder.h"

namespace reprise::models {

// Which rows predict which tokens: row_S ascending; the targets of scored row s are
// target[first_target[s] .. first_target[s + 1]).
struct ScoredRows {
  std::vector<int64_t> row_S;
  std::vector<int64_t> first_target = {0};
  std::vector<int32_t> target;

  void Clear();
  // Appends a row with its targets (at least one).
  void Add(int64_t row, const int32_t* targets, int64_t count);
  int64_t rows() const { return static_cast<int64_t>(row_S.size()); }
  int64_t targets() const { return static_cast<int64_t>(target.size()); }
};

// What ScoreForward leaves for ScoreBackward.
struct ScoreBuffers {
  Tensor hidden_SD, dhidden_SD, scratch;
  std::vector<float> logprob;                        // one a target
  std::vector<kernels::RowStatistics> statistics_S;  // one a scored row: entropy among them
  // What DivergenceForward leaves, of the reference's rows: no divergence where it has not run.
  Tensor reference_hidden_SD;
  std::vector<kernels::RowStatistics> reference_statistics_S;
  std::vector<float> divergence_S;
};

void ScoreForward(const Decoder& decoder, const Activations& activations, const ScoredRows& rows, float temperature,
                  ScoreBuffers* buffers, const Team& team = Team());

// After ScoreForward of the same rows: the divergence of the decoder's distribution from the reference's at each
// of them. `reference` has the same shape, and has run forward over the same batch.
void DivergenceForward(const Decoder& decoder, const Decoder& reference, const Activations& reference_activations,
                       const ScoredRows& rows, float temperature, ScoreBuffers* buffers, const Team& team = Team());

// What the loss makes of the rows' divergence from the reference that DivergenceForward saw.
struct DivergenceBackward {
  const Decoder& reference;
  const float* ddivergence_S;
};

// From the loss's gradients by log-probability (one a target) and by entropy (one a scored row; a 0, or null for all,
// where there is none; null for no divergence) to dhidden_TD (assigned; zero for rows that predict
// nothing), continuing the lm-head's shard gradient over scored rows. `last` as in Backward; with untied embeddings the
// sink then hears of the lm-head. Called before Backward of the same batch.
void ScoreBackward(const Decoder& decoder, const Activations& activations, const ScoredRows& rows, float temperature,
                   const float* dlogprob, const float* dentropy, bool last, ScoreBuffers* buffers, float* dhidden_TD,
                   ShardGradient* gradient, GradientSink* sink, const DivergenceBackward* divergence = nullptr,
                   const Team& team = Team());

}  // namespace reprise::models

#endif  // MODELS_DECODER_SCORING_H_
