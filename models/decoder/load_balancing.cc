#include "models/decoder/load_balancing.h"

#include <algorithm>

#include "kernels/router/router.h"
#include "kernels/sums/sums.h"

namespace reprise::models {

AuxiliaryGradient LoadBalancingGradient(const DecoderConfig& config, double coefficient,
                                        const std::vector<int64_t>& count_E, int64_t rows) {
  if (coefficient == 0.0 || rows == 0) return {};
  const double row_layers = static_cast<double>(rows) * static_cast<double>(config.num_hidden_layers);
  AuxiliaryGradient gradient_E;
  for (int64_t count : count_E) {
    const double fraction = static_cast<double>(count) / row_layers;
    gradient_E.push_back(
        static_cast<float>(coefficient * static_cast<double>(config.num_experts) * fraction / row_layers));
  }
  return gradient_E;
}

void AddExpertCounts(const Activations& activations, std::vector<int64_t>* count_E) {
  const DecoderConfig& config = activations.config();
  std::vector<int64_t> of_segment_E(count_E->size());
  for (const Segment& segment : activations.batch().segments) {
    std::fill(of_segment_E.begin(), of_segment_E.end(), 0);
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
      kernels::CountExperts(segment.rows, config.num_experts_per_tok,
                            activations.layer(i).expert_TK + segment.begin * config.num_experts_per_tok,
                            of_segment_E.data());
    }
    for (size_t e = 0; e < count_E->size(); ++e) (*count_E)[e] += segment.copies * of_segment_E[e];
  }
}

void SumProbabilities(const Activations& activations, const Segment& segment, double* sum_E) {
  const DecoderConfig& config = activations.config();
  const size_t experts = static_cast<size_t>(config.num_experts);
  std::vector<double> column(static_cast<size_t>(segment.rows));
  std::fill_n(sum_E, experts, 0.0);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    const float* const probability_TE = activations.layer(i).probability_TE[segment.begin];
    for (size_t e = 0; e < experts; ++e) {
      for (size_t t = 0; t < column.size(); ++t) column[t] = probability_TE[t * experts + e];
      sum_E[e] += kernels::TreeSum(column);
    }
  }
  for (size_t e = 0; e < experts; ++e) sum_E[e] *= static_cast<double>(segment.copies);
}

double LoadBalancingLoss(const DecoderConfig& config, const std::vector<int64_t>& count_E,
                         const std::vector<double>& probability_sum_E, int64_t rows) {
  if (rows == 0) return 0.0;
  const double row_layers = static_cast<double>(rows) * static_cast<double>(config.num_hidden_layers);
  std::vector<double> terms;
  for (size_t e = 0; e < count_E.size(); ++e) {
    terms.push_back(static_cast<double>(count_E[e]) / row_layers * (probability_sum_E[e] / row_layers));
  }
  return static_cast<double>(config.num_experts) * kernels::TreeSum(terms);
}

}  // namespace reprise::models
