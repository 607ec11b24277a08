#include "kernels/lm_head/categorical.h"

#include <algorithm>
#include <cstring>

#include "core/status/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lm_head/categorical.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/lm_head/row_gradient-inl.h"
#include "kernels/lm_head/temperature-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

void DivideRows(float temperature, const Rows& logits) {
  for (int64_t r = 0; r < logits.rows; ++r) DivideByTemperature(logits.width, temperature, logits[r]);
}

void DivergenceOfRows(const CategoricalRows& policy, const CategoricalRows& reference, float* divergence) {
  for (int64_t r = 0; r < policy.z.rows; ++r) {
    double sum = 0;
    for (int64_t first = 0; first < policy.z.width; first += kVocabularyChunk) {
      const int64_t n = std::min(kVocabularyChunk, policy.z.width - first);
      sum += static_cast<double>(DivergenceOfChunk(policy.z[r] + first, policy.statistics[r], reference.z[r] + first,
                                                   reference.statistics[r], n));
    }
    divergence[r] = static_cast<float>(std::max(sum, 0.0));
  }
}

// Replaces the row's z in dz.
void GradientOfRow(const CategoricalRows& policy, float temperature, const CategoricalGradient& gradient, int64_t r,
                   const Rows& dz) {
  const RowStatistics& row = policy.statistics[r];
  const RowGradient of_results = {1, gradient.action + r, gradient.dlogprob + r,
                                  gradient.dentropy == nullptr ? 0.0f : gradient.dentropy[r]};
  const bool with_divergence = gradient.ddivergence != nullptr && gradient.ddivergence[r] != 0.0f;
  for (int64_t first = 0; first < dz.width; first += kSegment) {
    const int64_t n = std::min(kSegment, dz.width - first);
    float* const z = dz[r] + first;
    alignas(64) float divergence_part[kSegment];
    if (with_divergence) {
      const CategoricalRows& reference = gradient.reference;
      std::memcpy(divergence_part, reference.z[r] + first, static_cast<size_t>(n) * sizeof(float));
      DivergencePart(n, z, row, {reference.statistics[r], gradient.divergence[r], gradient.ddivergence[r]},
                     divergence_part);
    }
    GradientOfLogits(of_results, row, first, n, with_divergence ? divergence_part : nullptr, z);
  }
  DivideByTemperature(dz.width, temperature, dz[r]);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(DivideRows);
HWY_EXPORT(DivergenceOfRows);
HWY_EXPORT(GradientOfRow);

void MaskLogits(const RowView<const uint8_t>& allowed, const Rows& logits) {
  for (int64_t r = 0; r < logits.rows; ++r) {
    bool has_action = false;
    for (int64_t v = 0; v < logits.width; ++v) {
      if (allowed[r][v] == 0) logits[r][v] = kMaskedLogit;
      has_action = has_action || allowed[r][v] != 0;
    }
    CHECK(has_action);
  }
}

void CategoricalForward(float temperature, const Rows& logits, RowStatistics* statistics) {
  HWY_DYNAMIC_DISPATCH(DivideRows)(temperature, logits);
  for (int64_t r = 0; r < logits.rows; ++r) statistics[r] = StatisticsOfRow(logits.width, logits[r]);
}

void CategoricalDivergence(const CategoricalRows& policy, const CategoricalRows& reference, float* divergence) {
  HWY_DYNAMIC_DISPATCH(DivergenceOfRows)(policy, reference, divergence);
}

void CategoricalBackward(const CategoricalRows& policy, float temperature, const CategoricalGradient& gradient,
                         const Rows& dlogits) {
  for (int64_t r = 0; r < dlogits.rows; ++r) {
    if (dlogits[r] != policy.z[r]) std::copy_n(policy.z[r], dlogits.width, dlogits[r]);
    HWY_DYNAMIC_DISPATCH(GradientOfRow)(policy, temperature, gradient, r, dlogits);
  }
}

}  // namespace reprise::kernels
#endif
