#include "kernels/experts/token_rows.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/experts/token_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {
namespace {

// Vectors of a row that are summed together, so that a token's weights are read once for all of these vectors.
constexpr int64_t kTogether = 4;

void GatherScaledRowsOf(const Dispatch& dispatch, const float* weight_TK, const ConstRows& x_TD, const Rows& x_RD) {
  const int64_t width = x_RD.width;
  for (int64_t r = 0; r < x_RD.rows; ++r) {
    const Floats weight = hn::Set(FloatTag(), weight_TK[dispatch.At(r)]);
    const float* const from = x_TD[dispatch.token_R[r]];
    float* const to = x_RD[r];
    for (int64_t j = 0; j < width; j += kWidth) {
      StorePart(hn::Mul(weight, LoadPart(from + j, width - j, 0.0f)), to + j, width - j);
    }
  }
}

template <bool kWeighted>
void SumOfRows(int64_t per_token, const int32_t* row_TK, const float* weight_TK, const ConstRows& x_RD,
               const Rows& y_TD) {
  const FloatTag d;
  const int64_t width = y_TD.width;
  const auto add = [&](int64_t slot, Floats x, Floats sum) HWY_ATTR {
    return kWeighted ? hn::MulAdd(hn::Set(d, weight_TK[slot]), x, sum) : hn::Add(x, sum);
  };
  for (int64_t t = 0; t < y_TD.rows; ++t) {
    const int64_t first = t * per_token, last = first + per_token;
    float* const y = y_TD[t];
    int64_t j = 0;
    for (; j + kTogether * kWidth <= width; j += kTogether * kWidth) {
      Floats sums[kTogether];
      REPRISE_UNROLL for (int i = 0; i < kTogether; ++i) sums[i] = hn::Zero(d);
      for (int64_t slot = first; slot < last; ++slot) {
        const float* const x = x_RD[row_TK[slot]] + j;
        REPRISE_UNROLL for (int i = 0; i < kTogether; ++i) sums[i] = add(slot, hn::LoadU(d, x + i * kWidth), sums[i]);
      }
      REPRISE_UNROLL for (int i = 0; i < kTogether; ++i) hn::StoreU(sums[i], d, y + j + i * kWidth);
    }
    for (; j < width; j += kWidth) {
      Floats sum = hn::Zero(d);
      for (int64_t slot = first; slot < last; ++slot) {
        sum = add(slot, LoadPart(x_RD[row_TK[slot]] + j, width - j, 0.0f), sum);
      }
      StorePart(sum, y + j, width - j);
    }
  }
}

void MixRowsOf(int64_t per_token, const int32_t* row_TK, const float* weight_TK, const ConstRows& x_RD,
               const Rows& y_TD) {
  SumOfRows<true>(per_token, row_TK, weight_TK, x_RD, y_TD);
}

void AddRowsOf(int64_t per_token, const int32_t* row_TK, const ConstRows& x_RD, const Rows& y_TD) {
  SumOfRows<false>(per_token, row_TK, nullptr, x_RD, y_TD);
}

}  // namespace
}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(GatherScaledRowsOf);
HWY_EXPORT(MixRowsOf);
HWY_EXPORT(AddRowsOf);

void GatherRows(const int32_t* token_R, const ConstRows& x_TD, const Rows& x_RD) {
  for (int64_t r = 0; r < x_RD.rows; ++r) {
    std::memcpy(x_RD[r], x_TD[token_R[r]], static_cast<size_t>(x_RD.width) * sizeof(float));
  }
}

void GatherScaledRows(const Dispatch& dispatch, const float* weight_TK, const ConstRows& x_TD, const Rows& x_RD) {
  HWY_DYNAMIC_DISPATCH(GatherScaledRowsOf)(dispatch, weight_TK, x_TD, x_RD);
}

void MixRows(int64_t per_token, const int32_t* row_TK, const float* weight_TK, const ConstRows& x_RD,
             const Rows& y_TD) {
  HWY_DYNAMIC_DISPATCH(MixRowsOf)(per_token, row_TK, weight_TK, x_RD, y_TD);
}

void AddRows(int64_t per_token, const int32_t* row_TK, const ConstRows& x_RD, const Rows& y_TD) {
  HWY_DYNAMIC_DISPATCH(AddRowsOf)(per_token, row_TK, x_RD, y_TD);
}

}  // namespace reprise::kernels
#endif
