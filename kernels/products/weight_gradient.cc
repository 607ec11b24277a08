#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "kernels/products/products.h"
#include "kernels/products/scratch.h"
#include "kernels/products/substitute.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/weight_gradient.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/products/microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {
namespace {

// x[rows, columns] -> panels[columns / kPanel][rows][kPanel], zero padded.
void PackColumns(const ConstRows& x, float* panels) {
  for (int64_t c = 0; c < x.width; c += kPanel) {
    float* const panel = panels + c * x.rows;
    for (int64_t r = 0; r < x.rows; ++r) {
      REPRISE_UNROLL for (int j = 0; j < kPanel; j += kWidth) {
        hn::Store(LoadPart(x[r] + c + j, x.width - c - j, 0.0f), FloatTag(), panel + r * kPanel + j);
      }
    }
  }
}

// dy[rows, size] -> packed[rows][size].
void PackBlock(const ConstRows& dy, float* packed) {
  static_assert(kMaxBlockRows <= kWidth);
  for (int64_t r = 0; r < dy.rows; ++r) StorePart(LoadPart(dy[r], dy.width, 0.0f), packed + r * dy.width, dy.width);
}

// A gradient of this many floats (1 MB) is evicted from the second-level cache before it is read.
constexpr int64_t kPastCaches = int64_t{1} << 18;

// Rows of at most one segment: chains from `begin` to `end`, both [n, k].
struct Piece {
  ConstRows dy, x;
  Chains chains;
};

HWY_INLINE Chains At(const Chains& chains, int64_t row, int64_t column) {
  return FromColumn(chains, row * chains.ld_end + column);
}

// Sets what block `b` prefetches while it computes the columns of x from c on: the last block the next columns of x,
// earlier blocks, in the first pass, the columns of dy that the next block reads. All are pieces of rows, which the
// hardware prefetcher does not predict.
HWY_INLINE void AskAhead(const Piece& o, const RowBlocks& blocks, int64_t b, int64_t c, Right* right) {
  if (b == blocks.count - 1) {
    right->ahead = o.x.data + c + kPanel;
    right->ahead_bytes = o.x.stride * static_cast<int64_t>(sizeof(float));
  } else if (c == 0) {
    right->ahead = o.dy.data + blocks.Begin(b + 1);
    right->ahead_bytes = o.dy.stride * static_cast<int64_t>(sizeof(float));
  }
}

// Short rows: dy's and x's rows are read in place, only x's last partial panel is copied.
void DirectPiece(const Piece& o) {
  const RowBlocks blocks{o.dy.width};
  const int64_t whole = o.x.width / kPanel * kPanel;
  float* const rest = whole < o.x.width ? ThreadScratch(static_cast<size_t>(o.x.rows * kPanel)) : nullptr;
  if (rest != nullptr) PackColumns(o.x.Columns(whole, o.x.width - whole), rest);
  for (int64_t c = 0; c < o.x.width; c += kPanel) {
    Right right = c < whole ? Right{o.x.data + c, o.x.stride, kPanel} : Right{rest, kPanel, 0};
    for (int64_t b = 0; b < blocks.count; ++b) {
      AskAhead(o, blocks, b, c, &right);
      AnyRowBlock<LeftLayout::kStepMajor>(blocks.Size(b), o.x.rows, {o.dy.data + blocks.Begin(b), o.dy.stride}, right,
                                          At(o.chains, blocks.Begin(b), c), std::min(kPanel, o.x.width - c));
    }
  }
}

// Long rows, copied so that they are contiguous in cache.
void PackedPiece(const Piece& o) {
  const RowBlocks blocks{o.dy.width};
  const int64_t group = (int64_t{1} << 17) / kSegment / kMaxBlockRows;  // blocks of packed dy in the second-level cache
  const int64_t panel_floats = PackedSize(o.x.width, o.x.rows);
  float* const panels = ThreadScratch(static_cast<size_t>(panel_floats + group * kMaxBlockRows * o.x.rows));
  float* const packed = panels + panel_floats;
  PackColumns(o.x, panels);
  for (int64_t first = 0; first < blocks.count; first += group) {
    const int64_t last = std::min(first + group, blocks.count), first_n = blocks.Begin(first);
    for (int64_t b = first; b < last; ++b) {
      PackBlock(o.dy.Columns(blocks.Begin(b), blocks.Size(b)), packed + (blocks.Begin(b) - first_n) * o.x.rows);
    }
    for (int64_t c = 0; c < o.x.width; c += kPanel) {
      for (int64_t b = first; b < last; ++b) {
        AnyRowBlock<LeftLayout::kStepMajor>(
            blocks.Size(b), o.x.rows, {packed + (blocks.Begin(b) - first_n) * o.x.rows, blocks.Size(b)},
            Right{panels + c * o.x.rows, kPanel, 0}, At(o.chains, blocks.Begin(b), c), std::min(kPanel, o.x.width - c));
      }
    }
  }
}

void WeightGradientPiece(const ConstRows& dy, const ConstRows& x, const float* begin, bool add, float* end) {
  const int64_t k = x.width;
  const bool past_caches =
      !add && dy.width * k >= kPastCaches && k % kPanel == 0 && reinterpret_cast<uintptr_t>(end) % 64 == 0;
  const Piece piece = {dy, x, {begin, k, add ? end : nullptr, k, end, k, past_caches}};
  if (std::max(x.stride, dy.stride) < kLongStride) {
    DirectPiece(piece);
  } else {
    PackedPiece(piece);
  }
  if (past_caches) hwy::FlushStream();  // before another thread is notified of them
}

}  // namespace
}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(WeightGradientPiece);

namespace {

// Without the chains of the contract: every call adds directly into the total.
void AccumulateInAnyOrder(ProductSubstitute* substitute, const ConstRows& dy, const ConstRows& x, int64_t first_row,
                          float* total) {
  if (x.rows == 0) {
    if (first_row == 0) std::fill_n(total, dy.width * x.width, 0.0f);
    return;
  }
  substitute->WeightGradient(dy, x, first_row == 0, total, [&] {
    for (int64_t row = 0; row < x.rows; row += kSegment) {
      const Range piece = {row, std::min(row + kSegment, x.rows)};
      HWY_DYNAMIC_DISPATCH(WeightGradientPiece)
      (dy.Slice(piece), x.Slice(piece), nullptr, first_row + row > 0, total);
    }
  });
}

}  // namespace

void AccumulateWeightGradient(const ConstRows& dy, const ConstRows& x, const GradientChains& dw) {
  if (dw.total == nullptr) return;
  if (ProductSubstitute* const substitute = SubstituteOfProducts()) {
    if (x.rows > 0 || dw.last) AccumulateInAnyOrder(substitute, dy, x, dw.first_row, dw.total);
    return;
  }
  if (x.rows == 0) {
    if (dw.last) dw.Close(dy.width * x.width);
    return;
  }
  for (Range piece; piece.begin < x.rows; piece.begin = piece.end) {
    const int64_t row = dw.first_row + piece.begin, in_segment = row % kSegment;
    piece.end = std::min(piece.begin + kSegment - in_segment, x.rows);
    const bool closes = in_segment + piece.size() == kSegment || (dw.last && piece.end == x.rows);
    HWY_DYNAMIC_DISPATCH(WeightGradientPiece)
    (dy.Slice(piece), x.Slice(piece), in_segment == 0 ? nullptr : dw.open, closes && row >= kSegment,
     closes ? dw.total : dw.open);
  }
}

}  // namespace reprise::kernels
#endif
