#ifndef MODELS_DECODER_LOAD_BALANCING_H_
#define MODELS_DECODER_LOAD_BALANCING_H_

// The router's load-balancing loss (Fedus et al. 2021, eq. 4-6, as Transformers' OLMoE pools it): E * sum over experts
// of f_e P_e, where f_e = (rows that chose e) / (layers * rows) sums to K, and P_e is the mean probability of e over
// all layers and rows. f is a count over the whole step and has no gradient, so shards and batches do not matter. The
// rows of a segment that stands for several sequences (Segment::copies) count for each of them.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "models/decoder/activations.h"
#include "models/decoder/decoder.h"

namespace reprise::models {

// Returns d (coefficient * loss) / d probability_te, the same for every row and layer. count_LE: of each layer, over
// the `rows` rows of the step. Empty if the coefficient or rows are 0.
AuxiliaryGradient LoadBalancingGradient(const DecoderConfig& config, double coefficient,
                                        absl::Span<const int64_t> count_LE, int64_t rows);

// Returns zeros for the counts of a decoder's experts: layers x experts.
std::vector<int64_t> NoExpertCounts(const DecoderConfig& config);

// count_LE[l, e] += how often e was chosen over all rows. The activations must be those of a training pass.
void AddExpertCounts(const Activations& activations, absl::Span<int64_t> count_LE);

// sum_E[e] = the sum over layers and the segment's rows of the probability of e, in double: per layer a fixed tree over
// rows, with layers in order, times the segment's copies. A segment's sums do not depend on its batch.
void SumProbabilities(const Activations& activations, const Segment& segment, double* sum_E);

// Returns the loss from the step's counts of each layer, and its sums of probabilities over all layers and rows.
double LoadBalancingLoss(const DecoderConfig& config, absl::Span<const int64_t> count_LE,
                         const std::vector<double>& probability_sum_E, int64_t rows);

}  // namespace reprise::models

#endif  // MODELS_DECODER_LOAD_BALANCING_H_
