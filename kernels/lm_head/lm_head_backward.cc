#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/lm_head/lm_head.h"
#include "kernels/products/products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lm_head/lm_head_backward.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/lm_head/row_gradient-inl.h"
#include "kernels/lm_head/temperature-inl.h"

#ifndef KERNELS_LM_HEAD_LM_HEAD_BACKWARD_CC_
#define KERNELS_LM_HEAD_LM_HEAD_BACKWARD_CC_
namespace reprise::kernels {

// The arguments of LmHeadBackward, without dW.
struct BackwardCall {
  const LmHeadOperands& operands;
  const RowStatistics* statistics;
  const LmHeadGradient& gradient;
  const Rows& dhidden;
  float* scratch;
  const Team& team;
};

}  // namespace reprise::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Replaces z, undivided logits [first, first + n) of row r, with their gradient; n is at most kSegment. reference_z:
// the reference's logits (overwritten), null if the divergence has no gradient.
HWY_INLINE void GradientsOfRow(const BackwardCall& call, int64_t r, int64_t first, int64_t n, float* HWY_RESTRICT z,
                               float* HWY_RESTRICT reference_z) {
  const float temperature = call.operands.TemperatureOf(r);
  const LmHeadGradient& gradient = call.gradient;
  const RowStatistics& row = call.statistics[r];
  DivideByTemperature(n, temperature, z);
  if (reference_z != nullptr) {
    const DivergenceGradient& of = *gradient.divergence;
    DivideByTemperature(n, temperature, reference_z);
    DivergencePart(n, z, row, {of.reference.statistics[r], of.divergence[r], of.ddivergence[r], of.from_reference},
                   reference_z);
  }
  const Targets& targets = call.operands.targets;
  const int64_t first_target = targets.first_target[r];
  const RowGradient of_results = {targets.first_target[r + 1] - first_target, targets.target + first_target,
                                  gradient.dlogprob + first_target,
                                  gradient.dentropy == nullptr ? 0.0f : gradient.dentropy[r]};
  GradientOfLogits(of_results, row, first, n, reference_z, z);
  DivideByTemperature(n, temperature, z);
}

// dz of the rows from `begin` on, for the logits from `first` on; reference_z likewise, null without a divergence.
void LogitGradients(const BackwardCall& call, int64_t begin, int64_t first, const Rows& dz, float* reference_z) {
  for (int64_t i = 0; i < dz.rows; ++i) {
    const bool with_divergence = reference_z != nullptr && call.gradient.divergence->ddivergence[begin + i] != 0.0f;
    GradientsOfRow(call, begin + i, first, dz.width, dz[i], with_divergence ? reference_z + i * dz.width : nullptr);
  }
}

// to += from.
void AddRows(const ConstRows& from_rows, const Rows& to_rows) {
  const FloatTag d;
  const int64_t n = to_rows.width;
  for (int64_t r = 0; r < to_rows.rows; ++r) {
    const float* const from = from_rows[r];
    float* const to = to_rows[r];
    int64_t c = 0;
    for (; c + kWidth <= n; c += kWidth) {
      hn::StoreU(hn::Add(hn::LoadU(d, to + c), hn::LoadU(d, from + c)), d, to + c);
    }
    for (; c < n; ++c) to[c] += from[c];
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(LogitGradients);
HWY_EXPORT(AddRows);

namespace {

// The vocabulary is processed in segments of dhidden's chains and the rows in segments of dW's: 1 MB of logits, so that
// every loaded weight and every stored partial sum is used for a whole segment.
int64_t SegmentOf(int64_t count) { return std::min(count, kSegment); }

// Copies steps [first, first + n) of a matrix of `contraction` steps to a new matrix. work: PackedSize(outputs, n).
PackedMatrix CopySteps(const PackedMatrix& matrix, int64_t outputs, int64_t contraction, int64_t first, int64_t n,
                       float* work) {
  const auto copy = [&](const auto* from, auto* to) {
    constexpr int64_t step = kStepElements<std::decay_t<decltype(*from)>>;
    for (int64_t panel = 0; panel < Panels(outputs); ++panel) {
      std::memcpy(to + panel * n * step, from + (panel * contraction + first) * step,
                  static_cast<size_t>(n * step) * sizeof(*from));
    }
    return PackedMatrix(to);
  };
  if (matrix.is_bf16()) return copy(matrix.pairs(), reinterpret_cast<Bf16Pair*>(work));
  return copy(matrix.floats(), work);
}

// Floats of AddHiddenSegment's work.
int64_t WorkSize(int64_t rows, int64_t width, int64_t vocabulary) {
  return vocabulary <= kSegment ? 0 : PackedSize(width, kSegment) + SegmentOf(rows) * width;
}

// With fewer rows or outputs of a product than this, a thread packs more than it multiplies.
constexpr int64_t kLeast = 32;

// Adds one segment's sum to dhidden, rows of the call's. `work`: the segment's weights, repacked as a separate matrix,
// and its sums.
void AddHiddenSegment(const BackwardCall& call, int64_t first, const ConstRows& dz, const Rows& dhidden, float* work) {
  const LmHeadOperands& o = call.operands;
  const int64_t n = dz.width, width = dhidden.width;
  const bool whole = n == o.vocabulary;
  const PackedMatrix segment = whole ? o.w_transposed : CopySteps(o.w_transposed, width, o.vocabulary, first, n, work);
  const Rows sums = {whole ? nullptr : work + PackedSize(width, n), dz.rows, width};
  call.team.ForRanges(dz.rows, kLeast, [&](int64_t begin, int64_t end) {
    const Range rows = {begin, end};
    if (first == 0) return Product(dz.Slice(rows), segment, dhidden.Slice(rows));
    Product(dz.Slice(rows), segment, sums.Slice(rows));
    HWY_DYNAMIC_DISPATCH(AddRows)(sums.Slice(rows), dhidden.Slice(rows));
  });
}

// Computes some rows of the call.
void BackwardRows(const BackwardCall& call, const Range& rows, const GradientChains& dw) {
  const LmHeadOperands& o = call.operands;
  const DivergenceGradient* const divergence = call.gradient.divergence;
  const ConstRows hidden = o.hidden.Slice(rows);
  const int64_t width = hidden.width;
  float* const dz_floats = call.scratch;
  float* const work = dz_floats + rows.size() * SegmentOf(o.vocabulary);
  const bool with_divergence =
      divergence != nullptr && std::any_of(divergence->ddivergence + rows.begin, divergence->ddivergence + rows.end,
                                           [](float x) { return x != 0; });
  float* const reference_floats = with_divergence ? work + WorkSize(rows.size(), width, o.vocabulary) : nullptr;
  for (int64_t first = 0; first < o.vocabulary; first += kSegment) {
    const int64_t n = std::min(kSegment, o.vocabulary - first);
    const Rows dz = {dz_floats, rows.size(), n};
    call.team.ForRanges(rows.size(), kLeast, [&](int64_t begin, int64_t end) {
      const Range part = {begin, end};
      Product(hidden.Slice(part), o.w_packed.FromPanel(first / kPanel, width), dz.Slice(part));
      const Rows reference_z = {with_divergence ? reference_floats + begin * n : nullptr, part.size(), n};
      if (with_divergence) {
        const HeadRows& reference = divergence->reference;
        Product(reference.hidden.Slice({rows.begin + begin, rows.begin + end}),
                reference.w_packed.FromPanel(first / kPanel, width), reference_z);
      }
      HWY_DYNAMIC_DISPATCH(LogitGradients)(call, rows.begin + begin, first, dz.Slice(part), reference_z.data);
    });
    AddHiddenSegment(call, first, dz, call.dhidden.Slice(rows), work);
    const int64_t skipped = std::clamp<int64_t>(o.first_trained - first, 0, n);
    if (skipped == n) continue;
    call.team.ForRanges(n - skipped, kLeast, [&](int64_t begin, int64_t end) {
      const int64_t row = first + skipped + begin - o.first_trained;
      AccumulateWeightGradient(dz.Columns(skipped + begin, end - begin), hidden, dw.From(row * width));
    });
  }
}

}  // namespace

int64_t LmHeadBackwardScratch(int64_t rows, int64_t width, int64_t vocabulary, bool with_divergence) {
  const int64_t n = SegmentOf(vocabulary);
  return SegmentOf(rows) * n * (with_divergence ? 2 : 1) + WorkSize(rows, width, vocabulary);
}

void LmHeadBackward(const LmHeadOperands& operands, const RowStatistics* statistics, const LmHeadGradient& gradient,
                    const Rows& dhidden, const GradientChains& dw, float* scratch, const Team& team) {
  const BackwardCall call = {operands, statistics, gradient, dhidden, scratch, team};
  const ConstRows& hidden = operands.hidden;
  if (hidden.rows == 0) {
    return AccumulateWeightGradient({nullptr, 0, operands.vocabulary - operands.first_trained}, hidden, dw);
  }
  for (Range rows; rows.begin < hidden.rows; rows.begin = rows.end) {
    GradientChains here = dw;
    here.first_row += rows.begin;
    rows.end = std::min(hidden.rows, rows.begin + kSegment - here.first_row % kSegment);
    here.last = dw.last && rows.end == hidden.rows;
    BackwardRows(call, rows, here);
  }
}

}  // namespace reprise::kernels
#endif
