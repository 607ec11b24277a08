#ifndef MODELS_DECODER_SCORING_H_
#define MODELS_DECODER_SCORING_H_

// The language-model head on top of the decoder's hidden states: log-probabilities of target tokens, and their backward
// pass. Only rows that predict something enter the head.

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"
#include "kernels/lm_head/lm_head.h"
#include "models/decoder/decoder.h"

namespace reprise::models {

// Which rows predict which tokens. row_S is ascending; the targets of scored row s are target[first_target[s] ..
// first_target[s + 1]).
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

// The results of ScoreForward that ScoreBackward reads.
struct ScoreBuffers {
  Tensor hidden_SD, dhidden_SD, scratch;
  std::vector<float> logprob;                        // one per target
  std::vector<kernels::RowStatistics> statistics_S;  // one per scored row; includes the entropy
  float temperature = 1.0f;
  // The results of DivergenceForward, including the reference's rows; not used if it was not called.
  Tensor reference_hidden_SD;
  std::vector<kernels::RowStatistics> reference_statistics_S;
  std::vector<float> divergence_S;
};

void ScoreForward(const Decoder& decoder, const Activations& activations, const ScoredRows& rows, float temperature,
                  ScoreBuffers* buffers, const Team& team = Team());

// Called after ScoreForward of the same rows: computes the divergence of the decoder's distribution from the
// reference's at each of them, at the same temperature. `reference` must have the same shape, and have run forward over
// the same batch.
void DivergenceForward(const Decoder& decoder, const Decoder& reference, const Activations& reference_activations,
                       const ScoredRows& rows, ScoreBuffers* buffers, const Team& team = Team());

// The loss's gradients by what ScoreForward and DivergenceForward computed.
struct ScoreGradients {
  const float* dlogprob = nullptr;       // one per target
  const float* dentropy_S = nullptr;     // 0 for rows without entropy in the loss; null: no row has it
  const Decoder* reference = nullptr;    // of DivergenceForward; null: the divergence is not in the loss
  const float* ddivergence_S = nullptr;  // where there is a reference
};

// Computes dhidden_TD (assigned; zero for rows that predict nothing) from the loss's gradients. Continues the lm-head's
// shard gradient over scored rows; with untied embeddings target.sink is called for it in the shard's last batch. Must
// be called before Backward of the same batch.
void ScoreBackward(const Decoder& decoder, const Activations& activations, const ScoredRows& rows,
                   const ScoreGradients& gradients, ScoreBuffers* buffers, float* dhidden_TD,
                   const GradientTarget& target, const Team& team = Team());

}  // namespace reprise::models

#endif  // MODELS_DECODER_SCORING_H_
