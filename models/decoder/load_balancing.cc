#include "models/decoder/load_balancing.h"

#include <algorithm>

#include "core/status/check.h"
#include "kernels/router/router.h"
#include "kernels/sums/sums.h"

namespace reprise::models {
namespace {

std::vector<int64_t> OverLayers(const DecoderConfig& config, absl::Span<const int64_t> count_LE) {
  std::vector<int64_t> count_E(static_cast<size_t>(config.num_experts));
  CHECK_EQ(count_LE.size(), count_E.size() * static_cast<size_t>(config.num_hidden_layers));
  for (size_t i = 0; i < count_LE.size(); ++i) count_E[i % count_E.size()] += count_LE[i];
  return count_E;
}

}  // namespace

std::vector<int64_t> NoExpertCounts(const DecoderConfig& config) {
  return std::vector<int64_t>(static_cast<size_t>(config.num_hidden_layers * config.num_experts));
}

AuxiliaryGradient LoadBalancingGradient(const DecoderConfig& config, double coefficient,
                                        absl::Span<const int64_t> count_LE, int64_t rows) {
  if (coefficient == 0.0 || rows == 0) return {};
  const double row_layers = static_cast<double>(rows) * static_cast<double>(config.num_hidden_layers);
  AuxiliaryGradient gradient_E;
  for (int64_t count : OverLayers(config, count_LE)) {
    const double fraction = static_cast<double>(count) / row_layers;
    gradient_E.push_back(
        static_cast<float>(coefficient * static_cast<double>(config.num_experts) * fraction / row_layers));
  }
  return gradient_E;
}

void AddExpertCounts(const Activations& activations, absl::Span<int64_t> count_LE) {
  const DecoderConfig& config = activations.config();
  std::vector<int64_t> of_segment_LE(count_LE.size());
  for (const Segment& segment : activations.batch().segments) {
    std::fill(of_segment_LE.begin(), of_segment_LE.end(), 0);
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
      kernels::CountExperts(segment.rows, config.num_experts_per_tok,
                            activations.layer(i).expert_TK + segment.begin * config.num_experts_per_tok,
                            of_segment_LE.data() + i * config.num_experts);
    }
    for (size_t i = 0; i < count_LE.size(); ++i) count_LE[i] += segment.copies * of_segment_LE[i];
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

double LoadBalancingLoss(const DecoderConfig& config, absl::Span<const int64_t> count_LE,
                         const std::vector<double>& probability_sum_E, int64_t rows) {
  if (rows == 0) return 0.0;
  const double row_layers = static_cast<double>(rows) * static_cast<double>(config.num_hidden_layers);
  const std::vector<int64_t> count_E = OverLayers(config, count_LE);
  std::vector<double> terms;
  for (size_t e = 0; e < count_E.size(); ++e) {
    terms.push_back(static_cast<double>(count_E[e]) / row_layers * (probability_sum_E[e] / row_layers));
  }
  return static_cast<double>(config.num_experts) * kernels::TreeSum(terms);
}

}  // namespace reprise::models
