#ifndef KERNELS_LM_HEAD_LM_HEAD_H_
#define KERNELS_LM_HEAD_LM_HEAD_H_

// Log-probabilities of target tokens under softmax(hidden W^T / temperature), their entropy and gradient, in chunks of
// the vocabulary: no [rows, V] logits are stored. Rows may have different temperatures.
//
// Order contract: z_v = (chain over the model width) / temperature; statistics, log-probabilities and entropies of z as
// in row_statistics.h, which the sampler (kernels/sampling) uses too.

#include <cstdint>

#include "core/parallel/team.h"
#include "kernels/contract/operands.h"
#include "kernels/lm_head/head_divergence.h"
#include "kernels/lm_head/row_statistics.h"
#include "kernels/products/packed_matrix.h"

namespace reprise::kernels {

// Targets of row r are target_[first_target[r] .. first_target[r+1]): one for most rows, G for the last row of a prompt
// that G completions share, none for a row without a prediction.
struct Targets {
  const int64_t* first_target = nullptr;  // rows + 1
  const int32_t* target = nullptr;
};

// What forward and backward read.
struct LmHeadOperands {
  ConstRows hidden;
  int64_t vocabulary = 0;
  PackedMatrix w_packed;  // PackForward of W [vocabulary, width]
  float temperature = 1;  // > 0
  Targets targets;
  PackedMatrix w_transposed = {};        // PackTransposed of W; only for backward
  const float* temperature_R = nullptr;  // of each row, instead of `temperature`; null: the same for all
  int64_t first_trained = 0;             // backward: dW has the rows of W from this one on, the others are frozen

  float TemperatureOf(int64_t row) const { return temperature_R == nullptr ? temperature : temperature_R[row]; }
};

// logprob (one per target), statistics (one per row).
int64_t LmHeadScratch(int64_t rows, int64_t vocabulary);
void LmHeadForward(const LmHeadOperands& operands, float* logprob, RowStatistics* statistics, float* scratch);

// The gradient of the loss with respect to HeadDivergence's results.
struct DivergenceGradient {
  HeadRows reference;
  const float* divergence = nullptr;   // one per row, of HeadDivergence
  const float* ddivergence = nullptr;  // one per row
  bool from_reference = false;         // the divergence is that of the reference from this head
};

// The gradient of the loss with respect to the head's results.
struct LmHeadGradient {
  const float* dlogprob = nullptr;                 // one per target
  const float* dentropy = nullptr;                 // one per row; null: none
  const DivergenceGradient* divergence = nullptr;  // null: none
};

// Computes the gradient of sum over targets i of dlogprob[i] * logprob[i] (+ sum over rows of dentropy[r] * entropy[r]
// + sum over rows of ddivergence[r] * divergence[r], if there are any; a row with dentropy or ddivergence 0 has the
// bits of one without). For row r, with p_v = exp(logprob_v):
//   dz_v = -(sum of its dlogprob, added in double in target order, rounded) * p_v,
//   then + dlogprob[i] at each target in order,
//   then + (-dentropy * p_v) * (logprob_v + entropy) if there is an entropy gradient,
//   then + (ddivergence * p_v) * ((logprob_v - reference's logprob_v) - divergence) if there is a divergence gradient,
//   or with from_reference + ddivergence * (p_v - exp(reference's logprob_v));
//   dlogits = dz / temperature.
// dhidden [rows, width] is assigned: a chain over the vocabulary, restarted every 512. dW [vocabulary, width] continues
// over rows. A team shares the rows of the logits and of dhidden, and the vocabulary of dW.
int64_t LmHeadBackwardScratch(int64_t rows, int64_t width, int64_t vocabulary, bool with_divergence = false);
void LmHeadBackward(const LmHeadOperands& operands, const RowStatistics* statistics, const LmHeadGradient& gradient,
                    const Rows& dhidden, const GradientChains& dw, float* scratch, const Team& team = Team());

}  // namespace reprise::kernels

#endif  // KERNELS_LM_HEAD_LM_HEAD_H_
