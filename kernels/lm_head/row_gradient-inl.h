// The divergence of a row's distribution from a reference's, and the gradient of a row's logits, for kernels that store
// a part of the logits at a time. Order contracts: kernels/lm_head/head_divergence.h, kernels/lm_head/lm_head.h. All
// logits are already divided by the temperature.
//
// Toggle guard: the file is compiled once for each target.
#if defined(KERNELS_LM_HEAD_ROW_GRADIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_LM_HEAD_ROW_GRADIENT_INL_H_
#undef KERNELS_LM_HEAD_ROW_GRADIENT_INL_H_
#else
#define KERNELS_LM_HEAD_ROW_GRADIENT_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/contract/numeric_contract.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/lm_head/row_statistics.h"
#include "kernels/math/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Returns the part of the divergence that n logits of the row contribute, at most kVocabularyChunk.
HWY_INLINE float DivergenceOfChunk(const float* z, const RowStatistics& row, const float* reference_z,
                                   const RowStatistics& reference, int64_t n) {
  const FloatTag d;
  const Floats max = hn::Set(d, row.max), log_sum = hn::Set(d, row.log_sum);
  const Floats reference_max = hn::Set(d, reference.max), reference_log_sum = hn::Set(d, reference.log_sum);
  Floats sum[kLaneVectors];
  REPRISE_UNROLL for (int j = 0; j < kLaneVectors; ++j) sum[j] = hn::Zero(d);
  for (int64_t i = 0; i < n; i += 64) {
    REPRISE_UNROLL for (int j = 0; j < kLaneVectors; ++j) {
      const int64_t at = i + j * kWidth, left = n - at;
      if (left <= 0) continue;
      // Lanes without an element stay unchanged.
      const auto inside = hn::FirstN(d, static_cast<size_t>(std::min<int64_t>(left, kWidth)));
      const Floats logprob = hn::Sub(hn::Sub(LoadPart(z + at, left, row.max), max), log_sum);
      const Floats other =
          hn::Sub(hn::Sub(LoadPart(reference_z + at, left, reference.max), reference_max), reference_log_sum);
      const Floats next = hn::MulAdd(ExpOf(logprob), hn::Sub(logprob, other), sum[j]);
      sum[j] = hn::IfThenElse(inside, next, sum[j]);
    }
  }
  return AddLanes(sum);
}

// The value of a row's divergence, and the gradient of the loss with respect to it.
struct RowDivergence {
  const RowStatistics& reference;
  float divergence, ddivergence;
  bool from_reference = false;
};

// Replaces reference_z, n logits of the reference, with the divergence's part of the gradient of z.
HWY_INLINE void DivergencePart(int64_t n, const float* HWY_RESTRICT z, const RowStatistics& row,
                               const RowDivergence& of, float* HWY_RESTRICT reference_z) {
  const FloatTag d;
  const Floats ddivergence = hn::Set(d, of.ddivergence);
  const Floats divergence = hn::Set(d, of.divergence);
  for (int64_t v = 0; v < n; v += kWidth) {
    const Floats logprob = hn::Sub(hn::Sub(LoadPart(z + v, n - v, 0.0f), hn::Set(d, row.max)), hn::Set(d, row.log_sum));
    const Floats other = hn::Sub(hn::Sub(LoadPart(reference_z + v, n - v, 0.0f), hn::Set(d, of.reference.max)),
                                 hn::Set(d, of.reference.log_sum));
    const Floats p = ExpOf(logprob);
    const Floats part = of.from_reference
                            ? hn::Mul(ddivergence, hn::Sub(p, ExpOf(other)))
                            : hn::Mul(hn::Mul(ddivergence, p), hn::Sub(hn::Sub(logprob, other), divergence));
    StorePart(part, reference_z + v, n - v);
  }
}

// z += part, for n floats.
HWY_INLINE void AddPart(int64_t n, const float* HWY_RESTRICT part, float* HWY_RESTRICT z) {
  for (int64_t v = 0; v < n; v += kWidth) {
    StorePart(hn::Add(LoadPart(z + v, n - v, 0.0f), LoadPart(part + v, n - v, 0.0f)), z + v, n - v);
  }
}

// The gradient of the loss with respect to a row's log-probabilities, of `targets` entries, and its entropy.
struct RowGradient {
  int64_t targets;
  const int32_t* target;
  const float* dlogprob;
  float dentropy;  // 0: none
};

// Replaces z, logits [first, first + n) of the row, with the gradient of these; n is at most kSegment. divergence_part:
// null for none.
HWY_INLINE void GradientOfLogits(const RowGradient& gradient, const RowStatistics& row, int64_t first, int64_t n,
                                 const float* HWY_RESTRICT divergence_part, float* HWY_RESTRICT z) {
  const FloatTag d;
  alignas(64) float entropy_part[kSegment];
  double sum = 0;
  for (int64_t i = 0; i < gradient.targets; ++i) sum += static_cast<double>(gradient.dlogprob[i]);
  const bool with_entropy = gradient.dentropy != 0.0f;
  const Floats minus_sum = hn::Set(d, -static_cast<float>(sum));
  const Floats minus_dentropy = hn::Set(d, -gradient.dentropy);
  const Floats max = hn::Set(d, row.max), log_sum = hn::Set(d, row.log_sum), entropy = hn::Set(d, row.entropy);
  for (int64_t v = 0; v < n; v += kWidth) {
    const Floats logprob = hn::Sub(hn::Sub(LoadPart(z + v, n - v, 0.0f), max), log_sum);
    const Floats p = ExpOf(logprob);
    StorePart(hn::Mul(minus_sum, p), z + v, n - v);
    if (with_entropy) {
      StorePart(hn::Mul(hn::Mul(minus_dentropy, p), hn::Add(logprob, entropy)), entropy_part + v, n - v);
    }
  }
  for (int64_t i = 0; i < gradient.targets; ++i) {
    const int64_t at = gradient.target[i] - first;
    if (at >= 0 && at < n) z[at] += gradient.dlogprob[i];
  }
  if (with_entropy) AddPart(n, entropy_part, z);
  if (divergence_part != nullptr) AddPart(n, divergence_part, z);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle guard
