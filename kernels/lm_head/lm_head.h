#ifndef KERNELS_LM_HEAD_LM_HEAD_H_
#define KERNELS_LM_HEAD_LM_HEAD_H_

// Log-probabilities of target tokens under softmax(hidden W^T / temperature), their entropy and gradient, in chunks of
// the vocabulary: no [rows, V] logits are held.
//
// Order contract: z_v = (chain over the model width) / temperature. Per chunk c of kVocabularyChunk entries: m_c = max,
// s_c = sum of exp(z_v - m_c) and t_c = sum of exp(z_v - m_c) * (z_v - m_c), in 64 lanes (lane = v mod 64), fixed tree.
// Over chunks, ascending: M = max m_c; S = sum of s_c exp(m_c - M); U = sum of exp(m_c - M) (t_c + s_c (m_c - M)).
// logprob_v = (z_v - M) - log(S); entropy = log(S) - U / S. The sampler (kernels/sampling) uses the same statistics.

#include <cstdint>

namespace reprise::kernels {

inline constexpr int64_t kVocabularyChunk = 4096;  // part of the numeric contract; a multiple of 512

struct RowStatistics {
  float max = 0;      // M
  float log_sum = 0;  // log(S)
  float sum = 0;      // S
  float entropy = 0;  // nats
};

// The statistics of one row of logits that are already divided by the temperature.
RowStatistics StatisticsOfRow(int64_t vocabulary, const float* z);

// Targets of row r are target_[first_target[r] .. first_target[r+1]): one for most rows, G for the last row of a prompt
// that G completions share, none for a row that predicts nothing.
struct Targets {
  const int64_t* first_target = nullptr;  // rows + 1
  const int32_t* target = nullptr;
};

// logprob (one per target), statistics (one per row). w_packed = PackForward of W [vocabulary, width].
int64_t LmHeadScratch(int64_t rows, int64_t vocabulary);
void LmHeadForward(int64_t rows, int64_t width, int64_t vocabulary, const float* hidden, int64_t ldh,
                   const float* w_packed, float temperature, const Targets& targets, float* logprob,
                   RowStatistics* statistics, float* scratch);

// Gradient of sum over targets i of dlogprob[i] * logprob[i] (+ sum over rows of dentropy[r] * entropy[r], if not
// null). For row r: dz_v = -(sum of its dlogprob, added in double in target order, rounded) * p_v, then + dlogprob[i]
// at each target in order, then the entropy's part -dentropy * p_v * (logprob_v + entropy); dlogits = dz / temperature.
// dhidden [rows, width] is assigned: a chain over the vocabulary, restarted every 512. dW [vocabulary, width] continues
// over rows: total, open, first_row and last as in AccumulateWeightGradient. w_transposed = PackTransposed of W.
int64_t LmHeadBackwardScratch(int64_t rows, int64_t width, int64_t vocabulary);
void LmHeadBackward(int64_t rows, int64_t width, int64_t vocabulary, const float* hidden, int64_t ldh,
                    const float* w_packed, const float* w_transposed, float temperature, const Targets& targets,
                    const float* dlogprob, const float* dentropy, const RowStatistics* statistics, float* dhidden,
                    int64_t lddh, int64_t first_row, bool last, float* total_dw, float* open_dw, float* scratch);

}  // namespace reprise::kernels

#endif  // KERNELS_LM_HEAD_LM_HEAD_H_
