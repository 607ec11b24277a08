#include <algorithm>

#include "core/status/check.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/geometry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_forward.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/attention/score_tiles-inl.h"
#include "kernels/attention/value_tiles-inl.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

struct ForwardCall {
  const ConstRows& q;
  int64_t first_own;
  const HeadContext& context;
  const Rows& out;
  float* statistics;
  float* scratch;
};

// Computes queries [i, i + kRows) and so on, then the rest in smaller and smaller blocks.
template <int kRows>
void ForwardBlocks(const ForwardCall& call, int64_t i) {
  const HeadContext& context = call.context;
  const int64_t prefix = context.prefix.count(), width = call.q.width, ldq = call.q.stride;
  const int64_t lds = ScoreStride(prefix + call.first_own + call.q.rows);
  const ValueRows values(context.prefix.v, context.own.v);
  for (; i + kRows <= call.q.rows; i += kRows) {
    const int64_t seen = prefix + call.first_own + i + 1;
    const float* q = call.q[i];
    float* s = call.scratch;
    ScoreRows<kRows>(width, q, ldq, prefix, context.prefix.k_panels, s, lds);
    ScoreRows<kRows>(width, q, ldq, seen + kRows - 1 - prefix, context.own.k_panels, s + prefix, lds);
    float max[kRows], sum[kRows], inverse_sum[kRows];
    for (int r = 0; r < kRows; ++r) max[r] = MaxOf(s + r * lds, seen + r) + 0.0f;  // -0 becomes +0
    for (int r = 0; r < kRows; ++r) sum[r] = ExponentialsOf(seen + r, max[r], context.scale, s + r * lds);
    for (int r = 0; r < kRows; ++r) inverse_sum[r] = 1.0f / sum[r];
    if (call.statistics != nullptr) {
      for (int r = 0; r < kRows; ++r) {
        call.statistics[2 * (i + r)] = max[r];
        call.statistics[2 * (i + r) + 1] = inverse_sum[r];
      }
    }
    WeightedSums<kRows>(seen, width, s, lds, values, inverse_sum, call.out[i], call.out.stride);
  }
  if constexpr (kRows > 1) ForwardBlocks<kRows / 2>(call, i);
}

void Forward(const ConstRows& q, int64_t first_own, const HeadContext& context, const Rows& out, float* statistics,
             float* scratch) {
  const ForwardCall call = {q, first_own, context, out, statistics, scratch};
  if (q.rows == 1) return ForwardBlocks<1>(call, 0);
  ForwardBlocks<kBlockRows>(call, 0);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {
namespace {

constexpr int64_t kLineFloats = 16;

void Prefetch(const float* data, int64_t floats) {
  for (int64_t i = 0; i < floats; i += kLineFloats) __builtin_prefetch(data + i);
}

}  // namespace

HWY_EXPORT(Forward);

void PrefetchKeys(const HeadKeys& keys) {
  if (keys.count() == 0) return;
  Prefetch(keys.k_panels, KeyPanelFloats(keys.count(), keys.v.width));
  if (keys.v.stride == keys.v.width) return Prefetch(keys.v.data, keys.count() * keys.v.width);
  for (int64_t j = 0; j < keys.count(); ++j) Prefetch(keys.v[j], keys.v.width);
}

int64_t AttentionScratch(int64_t queries, int64_t prefix_keys, int64_t own_keys, int64_t /*head_width*/) {
  return std::min(queries, kLargestBlock) * ScoreStride(prefix_keys + own_keys);
}

void AttentionForward(const ConstRows& q, int64_t first_own, const HeadContext& context, const Rows& out,
                      float* statistics, float* scratch) {
  CHECK_GE(context.own.count(), first_own + q.rows);
  HWY_DYNAMIC_DISPATCH(Forward)(q, first_own, context, out, statistics, scratch);
}

}  // namespace reprise::kernels
#endif
