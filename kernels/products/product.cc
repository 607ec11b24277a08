#include <algorithm>
#include <cstddef>

#include "kernels/products/products.h"
#include "kernels/products/scratch.h"
#include "kernels/products/substitute.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/product.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/products/microkernel-inl.h"
#include "kernels/products/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {
namespace {

// Rows of x that are worked on together, times steps: what stays in the second-level cache while the panels pass.
constexpr int64_t kGroupFloats = int64_t{1} << 17;

// The operands of one call, reduced to the columns that it writes.
struct Operands {
  int64_t rows, columns, contraction;
  const float* x;
  int64_t ldx;
  const float* panels;
  float* y;
  int64_t ldy;
};

// Blocks [first, last) of a call's rows.
struct BlockRange {
  const RowBlocks& blocks;
  int64_t first, last;
  int64_t count() const { return last - first; }
  int64_t first_row() const { return blocks.Begin(first); }
};

// One segment of some columns.
struct Part {
  int64_t first_step, steps;
  int64_t first_column, columns;
};

// What block `block` of `count` asks for while it computes: a single one the panel itself, a little ahead. Several ask
// for what follows in memory, which is read next, a share each: memory works while they compute.
HWY_INLINE Right PanelOf(const Operands& o, const Part& part, int64_t block, int64_t count) {
  constexpr int64_t kSharing = 4;
  Right right = {o.panels + part.first_column * o.contraction + part.first_step * kPanel, kPanel,
                 o.contraction * kPanel};
  if (const int64_t sharing = std::min(count, kSharing); sharing > 1) {
    right.ahead = right.data + part.steps * kPanel + std::min(block, sharing - 1) * (part.steps * kPanel / sharing);
    right.ahead_step = block < sharing ? kPanel / sharing : 0;
  }
  return right;
}

// One part for all blocks; left(block) is where a block's rows are read.
template <LeftLayout kLayout, typename LeftOf>
HWY_INLINE void BlocksPart(const Operands& o, const BlockRange& range, const Part& part, const LeftOf& left) {
  for (int64_t b = range.first; b < range.last; ++b) {
    const Chains chains = {nullptr, 0, part.first_step > 0, o.y + range.blocks.Begin(b) * o.ldy + part.first_column,
                           o.ldy};
    AnyRowBlock<kLayout>(range.blocks.Size(b), part.steps, left(b), PanelOf(o, part, b - range.first, range.count()),
                         chains, part.columns);
  }
}

// x[rows, steps] -> packed[steps][rows].
HWY_INLINE void PackRows(const float* x, int64_t ldx, int64_t rows, int64_t steps, float* packed) {
  int64_t s = 0;
  for (; s + 16 <= steps; s += 16) {  // a cache line of each row
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      REPRISE_UNROLL for (int j = 0; j < 16; j += 4) {
        Transpose4(x + r * ldx + s + j, ldx, packed + (s + j) * rows + r, rows);
      }
    }
    for (; r < rows; ++r) {
      REPRISE_UNROLL for (int j = 0; j < 16; ++j) packed[(s + j) * rows + r] = x[r * ldx + s + j];
    }
  }
  for (; s < steps; ++s) {
    for (int64_t r = 0; r < rows; ++r) packed[s * rows + r] = x[r * ldx + s];
  }
}

// Rows read where they lie: each panel is read once, as one contiguous stream.
void StreamPanels(const Operands& o) {
  const RowBlocks blocks{o.rows};
  const BlockRange range = {blocks, 0, blocks.count};
  const int64_t at_once = kPanel * (o.rows <= 2 ? 4 : o.rows <= 4 ? 2 : 1);
  for (int64_t c = 0; c < o.columns; c += at_once) {
    for (int64_t s = 0; s < o.contraction; s += kSegment) {
      BlocksPart<LeftLayout::kRowMajor>(o, range,
                                        {s, std::min(kSegment, o.contraction - s), c, std::min(at_once, o.columns - c)},
                                        [&](int64_t b) { return Left{o.x + blocks.Begin(b) * o.ldx + s, o.ldx}; });
    }
  }
}

void StreamPanelsByGroups(const Operands& o) {
  const int64_t group = std::max<int64_t>(1, kGroupFloats / o.contraction / kMaxBlockRows) * kMaxBlockRows;
  for (int64_t first = 0; first < o.rows; first += group) {
    Operands rows = o;
    rows.rows = std::min(group, o.rows - first);
    rows.x += first * o.ldx;
    rows.y += first * o.ldy;
    StreamPanels(rows);
  }
}

// Many long rows: a group of packed rows stays in cache while one segment of all panels passes.
void StreamSegments(const Operands& o) {
  const RowBlocks blocks{o.rows};
  constexpr int64_t kMostBlocks = 20;
  const int64_t groups = (blocks.count + kMostBlocks - 1) / kMostBlocks;
  float* const packed = ThreadScratch(static_cast<size_t>(kMostBlocks * kMaxBlockRows * kSegment));
  for (int64_t g = 0; g < groups; ++g) {
    const BlockRange range = {blocks, blocks.count * g / groups, blocks.count * (g + 1) / groups};
    for (int64_t s = 0; s < o.contraction; s += kSegment) {
      const int64_t steps = std::min(kSegment, o.contraction - s);
      const auto packed_of = [&](int64_t b) { return packed + (blocks.Begin(b) - range.first_row()) * steps; };
      for (int64_t b = range.first; b < range.last; ++b) {
        PackRows(o.x + blocks.Begin(b) * o.ldx + s, o.ldx, blocks.Size(b), steps, packed_of(b));
      }
      for (int64_t c = 0; c < o.columns; c += kPanel) {
        BlocksPart<LeftLayout::kStepMajor>(o, range, {s, steps, c, std::min(kPanel, o.columns - c)},
                                           [&](int64_t b) { return Left{packed_of(b), blocks.Size(b)}; });
      }
    }
  }
}

void ProductOf(int64_t rows, int64_t columns, int64_t contraction, const float* x, int64_t ldx, const float* panels,
               float* y, int64_t ldy) {
  const Operands o = {rows, columns, contraction, x, ldx, panels, y, ldy};
  if (ldx < kLongStride || rows * contraction <= kGroupFloats || columns < 4 * kPanel) {
    return StreamPanelsByGroups(o);
  }
  StreamSegments(o);
}

}  // namespace
}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(ProductOf);

void Product(int64_t rows, int64_t outputs, int64_t contraction, const float* x, int64_t ldx, const float* packed,
             float* y, int64_t ldy, int64_t first_panel, int64_t last_panel) {
  const int64_t first_column = first_panel * kPanel;
  const int64_t columns = std::min(outputs, last_panel * kPanel) - first_column;
  if (rows <= 0 || columns <= 0) return;
  if (contraction == 0) {
    for (int64_t r = 0; r < rows; ++r) std::fill_n(y + r * ldy + first_column, columns, 0.0f);
    return;
  }
  const auto own = [&] {
    HWY_DYNAMIC_DISPATCH(ProductOf)
    (rows, columns, contraction, x, ldx, packed + first_column * contraction, y + first_column, ldy);
  };
  ProductSubstitute* const substitute = SubstituteOfProducts();
  if (substitute == nullptr || columns != outputs) return own();
  substitute->Product(rows, outputs, contraction, x, ldx, packed, y, ldy, own);
}

}  // namespace reprise::kernels
#endif
