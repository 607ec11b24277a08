#include <algorithm>

#include "core/status/check.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/geometry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/attention/key_tiles-inl.h"
#include "kernels/attention/score_tiles-inl.h"
#include "kernels/attention/value_tiles-inl.h"
#include "kernels/isa/lane_sum-inl.h"
#include "kernels/isa/vectors-inl.h"

#ifndef KERNELS_ATTENTION_ATTENTION_BACKWARD_CC_
#define KERNELS_ATTENTION_ATTENTION_BACKWARD_CC_
namespace reprise::kernels {

// The arguments and scratch of one call. The scratch holds the probabilities and ds of a block of queries and, where
// the chains of dk and dv span several blocks or segments, the open chains and the totals of the finished segments.
struct BackwardCall {
  const ConstRows& q;
  const HeadContext& context;
  const float* statistics;
  const ConstRows& dout;
  const Rows& dq;
  const KeyGradients& own;
  const KeyGradients& prefix;

  int64_t lds;
  int64_t block;  // queries per block: all of them or a multiple of kLargestBlock
  float* p;
  float* ds;
  float* open[2];  // dk, dv: [prefix + own keys, head width]
  float* total[2];
};

inline int64_t BackwardBlock(int64_t queries, int64_t keys) {
  constexpr int64_t kCached = 64 * 1024;  // floats of p and ds that stay in the second-level cache
  const int64_t rows = kCached / (2 * ScoreStride(keys)) / kLargestBlock * kLargestBlock;
  return std::min(queries, std::clamp(rows, kLargestBlock, kSegment));
}

}  // namespace reprise::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// p holds scores and becomes the probabilities; returns D, the sum of p_j dp_j with dp = dout v.
HWY_INLINE float Probabilities(int64_t n, float max, float inverse_sum, float scale, float* p, const float* dp) {
  const FloatTag d;
  const Floats max_v = hn::Set(d, max);
  const Floats scale_v = hn::Set(d, scale);
  const Floats inverse_v = hn::Set(d, inverse_sum);
  return SumInLanes(n, [=](Floats lane, int64_t j, int64_t /*left*/) HWY_ATTR {
    const Floats x = hn::Mul(ExpOf(hn::Mul(hn::Sub(hn::LoadU(d, p + j), max_v), scale_v)), inverse_v);
    hn::StoreU(x, d, p + j);
    return hn::MulAdd(x, hn::LoadU(d, dp + j), lane);
  });
}

// dp becomes ds = p (dp - D) scale.
HWY_INLINE void ScoreGradients(int64_t n, const float* p, float sum, float scale, float* dp) {
  const FloatTag d;
  const Floats sum_v = hn::Set(d, sum);
  const Floats scale_v = hn::Set(d, scale);
  for (int64_t j = 0; j < n; j += kWidth) {
    const Floats difference = hn::Sub(hn::LoadU(d, dp + j), sum_v);
    hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, p + j), difference), scale_v), d, dp + j);
  }
}

// Computes probabilities, ds and dq of queries [i, end), whose rows in p and ds start at query `begin`.
template <int kRows>
void QueryBlocks(const BackwardCall& call, int64_t begin, int64_t i, int64_t end) {
  const HeadKeys &prefix_keys = call.context.prefix, &own_keys = call.context.own;
  const int64_t prefix = prefix_keys.count(), width = call.q.width, ldq = call.q.stride, lddout = call.dout.stride;
  const float scale = call.context.scale;
  const ValueRows keys(prefix_keys.k, own_keys.k);
  for (; i + kRows <= end; i += kRows) {
    const int64_t seen = prefix + i + 1;
    const int64_t own = i + kRows;
    float* p = call.p + (i - begin) * call.lds;
    float* ds = call.ds + (i - begin) * call.lds;
    const float* q = call.q[i];
    const float* dout = call.dout[i];
    ScoreRows<kRows>(width, q, ldq, prefix, prefix_keys.k_panels, p, call.lds);
    ScoreRows<kRows>(width, q, ldq, own, own_keys.k_panels, p + prefix, call.lds);
    ScoreRows<kRows>(width, dout, lddout, prefix, prefix_keys.v_panels, ds, call.lds);
    ScoreRows<kRows>(width, dout, lddout, own, own_keys.v_panels, ds + prefix, call.lds);
    float sum[kRows];
    for (int r = 0; r < kRows; ++r) {
      const float* statistics = call.statistics + 2 * (i + r);
      sum[r] = Probabilities(seen + r, statistics[0], statistics[1], scale, p + r * call.lds, ds + r * call.lds);
    }
    for (int r = 0; r < kRows; ++r) {
      ScoreGradients(seen + r, p + r * call.lds, sum[r], scale, ds + r * call.lds);
    }
    WeightedSums<kRows>(seen, width, ds, call.lds, keys, nullptr, call.dq[i], call.dq.stride);
  }
  if constexpr (kRows > 1) QueryBlocks<kRows / 2>(call, begin, i, end);
}

// The queries [begin, end) of a block within one segment.
struct QueryRange {
  int64_t begin;
  int64_t end;
  bool first;  // of its segment
  bool last;   // of its segment
  int64_t segment;
  bool single_segment;  // the call has no other segment
};

// Returns the start and end of the chain of the keys from row `at` of the buffers on. fresh: no query before this block
// sees them in this segment; first_segment: the first segment that sees them.
HWY_INLINE ChainEnds EndsOf(const BackwardCall& call, int which, int64_t at, bool fresh, int64_t first_segment,
                            const QueryRange& range, float* gradient) {
  const int64_t width = call.q.width;
  float* open = call.open[which] + at * width;
  const float* from = fresh ? nullptr : open;
  if (!range.last) return {from, open, width, width, false};
  if (range.single_segment) return {from, gradient, width, call.own.dk.stride, true};
  return {from, call.total[which] + at * width, width, width, range.segment > first_segment};
}

// Computes dk and dv of keys [j, count) of the prefix (own == false) or of the own keys.
template <int kRows>
void KeyBlocks(const BackwardCall& call, const QueryRange& range, bool own, int64_t j, int64_t count) {
  const int64_t first_row = own ? call.context.prefix.count() : 0, width = call.q.width;
  const KeyGradients& gradients = own ? call.own : call.prefix;
  for (; j + kRows <= count; j += kRows) {
    const bool diagonal = own && j >= range.begin;
    const int64_t begin = diagonal ? j : range.begin;
    const bool fresh = diagonal || range.first;
    const int64_t at = first_row + j;
    const int64_t offset = (begin - range.begin) * call.lds + at;
    const int64_t first_segment = own ? j / kSegment : 0;
    KeyColumns<kRows>(range.end - begin, diagonal, width, call.ds + offset, call.lds, call.q[begin], call.q.stride,
                      EndsOf(call, 0, at, fresh, first_segment, range, gradients.dk[j]));
    KeyColumns<kRows>(range.end - begin, diagonal, width, call.p + offset, call.lds, call.dout[begin], call.dout.stride,
                      EndsOf(call, 1, at, fresh, first_segment, range, gradients.dv[j]));
  }
  if constexpr (kRows > 1) KeyBlocks<kRows / 2>(call, range, own, j, count);
}

void Backward(const BackwardCall& call) {
  const int64_t queries = call.q.rows;
  for (int64_t begin = 0, end = 0; begin < queries; begin = end) {
    const int64_t segment = begin / kSegment;
    const int64_t segment_end = std::min(queries, (segment + 1) * kSegment);
    end = std::min(segment_end, begin + call.block);
    QueryBlocks<kBlockRows>(call, begin, begin, end);
    const QueryRange range = {begin, end, begin % kSegment == 0, end == segment_end, segment, queries <= kSegment};
    KeyBlocks<kTileKeys>(call, range, false, 0, call.context.prefix.count());
    KeyBlocks<kTileKeys>(call, range, true, 0, end);
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {
namespace {

HWY_EXPORT(Backward);

void AddRows(const float* from, const Rows& to) {
  for (int64_t r = 0; r < to.rows; ++r) {
    for (int64_t c = 0; c < to.width; ++c) to[r][c] += from[r * to.width + c];
  }
}

// Floats of the open chains (and as many of the totals).
int64_t ChainFloats(int64_t queries, int64_t prefix_keys, int64_t head_width) {
  return (prefix_keys + queries) * head_width;
}

}  // namespace

int64_t AttentionBackwardScratch(int64_t queries, int64_t prefix_keys, int64_t head_width) {
  const int64_t keys = prefix_keys + queries;
  return 2 * BackwardBlock(queries, keys) * ScoreStride(keys) + 4 * ChainFloats(queries, prefix_keys, head_width);
}

void AttentionBackward(const ConstRows& q, const HeadContext& context, const float* statistics, const ConstRows& dout,
                       const Rows& dq, const KeyGradients& own, const KeyGradients& prefix, float* scratch) {
  CHECK_GE(context.own.count(), q.rows);
  const int64_t prefix_keys = context.prefix.count(), keys = prefix_keys + q.rows;
  const int64_t lds = ScoreStride(keys), block = BackwardBlock(q.rows, keys);
  const int64_t chain = ChainFloats(q.rows, prefix_keys, q.width);
  float* const p = scratch;
  float* const ds = p + block * lds;
  float* const chains = ds + block * lds;
  const BackwardCall call = {.q = q,
                             .context = context,
                             .statistics = statistics,
                             .dout = dout,
                             .dq = dq,
                             .own = own,
                             .prefix = prefix,
                             .lds = lds,
                             .block = block,
                             .p = p,
                             .ds = ds,
                             .open = {chains, chains + chain},
                             .total = {chains + 2 * chain, chains + 3 * chain}};
  HWY_DYNAMIC_DISPATCH(Backward)(call);
  if (q.rows <= kSegment) return;
  const int64_t own_at = prefix_keys * q.width;
  AddRows(call.total[0], prefix.dk);
  AddRows(call.total[1], prefix.dv);
  AddRows(call.total[0] + own_at, own.dk);
  AddRows(call.total[1] + own_at, own.dv);
}

}  // namespace reprise::kernels
#endif
