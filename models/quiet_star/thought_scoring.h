#ifndef MODELS_QUIET_STAR_THOUGHT_SCORING_H_
#define MODELS_QUIET_STAR_THOUGHT_SCORING_H_

// The heads' passes over one batch of texts with thoughts: from the decoder's hidden states to scores, and from the
// scores' gradients to those of the hidden states.

#include <cstdint>
#include <vector>

#include "core/parallel/team.h"
#include "core/tensor/tensor.h"
#include "kernels/lm_head/row_statistics.h"
#include "models/decoder/decoder.h"
#include "models/quiet_star/thought_batch.h"
#include "models/quiet_star/thought_pass.h"

namespace reprise::models {

// The results of a forward pass that the backward pass reads, and scratch memory.
struct ThoughtScoreBuffers {
  Tensor hidden_RD, base_XD, thought_YD, value_hidden_MD;
  std::vector<float> logprob_R, weight_X, value_M;
  // With the attention mixing head: of each thought the text's state before it, the mean of its own states, and how
  // coherent they are; also by row, and the factors of probabilities.
  Tensor text_KD, mean_KD;
  std::vector<float> coherence_K, coherence_Y, factor_YH;
  std::vector<kernels::RowStatistics> statistics_R;
  std::vector<int64_t> first_target_R;  // 0, 1, ..., R
  // Of the reference, where there is one: zeros and 0 in rows that are no tokens of thoughts.
  Tensor reference_RD;
  std::vector<kernels::RowStatistics> reference_statistics_R;
  std::vector<float> divergence_R;
  ThoughtHeadBuffers heads;
  Tensor mixed_XD, dhidden_RD, dbase_XD, dthought_YD, dtext_KD, dmean_KD, dvalue_hidden_MD, scratch;
};

// The hidden states of a batch, and of the text outside of it (null if it has none outside).
struct ThoughtStates {
  const Activations& batch;
  const Activations* outside = nullptr;
};

// Computes log-probabilities, statistics, weights and values.
void ScoreRows(const ThoughtNetwork& network, const ThoughtPassOptions& options, const ThoughtRows& rows,
               const ThoughtStates& states, ThoughtScoreBuffers* buffers, const Team& team);

// Called before the policy's forward pass over the same batch, with the reference's activations: keeps its hidden
// states.
void KeepReference(const ThoughtRows& rows, const Activations& reference, ThoughtScoreBuffers* buffers);
// Called after ScoreRows and KeepReference: computes the divergences of the tokens of thoughts.
void ScoreDivergences(const ThoughtNetwork& network, const ThoughtPassOptions& options, const Decoder& reference,
                      const ThoughtRows& rows, ThoughtScoreBuffers* buffers, const Team& team);

// Appends the scores of part p of the batch to those of its text.
void AppendScores(const ThoughtRows& rows, size_t part, bool with_divergences, const ThoughtScoreBuffers& buffers,
                  ThoughtScores* scores);

// Sets all gradients to zeros of the sizes of the scores.
void ClearGradients(const ThoughtScores& scores, ThoughtGradients* gradients);

// How much of a text's gradients earlier batches have read.
struct GradientCursor {
  const ThoughtGradients* gradients = nullptr;
  size_t t = 0, a = 0;
};

// The gradients by scored row, and by value.
struct RowGradients {
  std::vector<float> dlogprob_R, dentropy_R, ddivergence_R, dvalue_M;
};

// Reads the gradients of part p of the batch behind the cursor, and advances it.
void AppendGradients(const ThoughtRows& rows, size_t part, GradientCursor* cursor, RowGradients* gradients);

// How far a shard's gradients of the heads are.
struct HeadProgress {
  int64_t sites = 0, thought_rows = 0, thoughts = 0, values = 0;
};

// Where ScoresBackward adds its gradients. Rows of thoughts are assigned, those of texts are added to.
struct ScoresTarget {
  const GradientTarget& parameters;
  HeadProgress* progress = nullptr;
  float* dhidden_TD = nullptr;  // of the batch
  float* dtext_SD = nullptr;    // of the text outside of it; null if it has none
};

// Continues the lm-head's and the heads' gradients, and computes that of the hidden states. reference: of
// ScoreDivergences, or null.
void ScoresBackward(const ThoughtNetwork& network, const ThoughtPassOptions& options, const Decoder* reference,
                    const ThoughtRows& rows, const RowGradients& gradients, const ScoresTarget& target,
                    ThoughtScoreBuffers* buffers, const Team& team);

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_THOUGHT_SCORING_H_
