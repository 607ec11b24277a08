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

// Rows of x that are processed together, times steps: they stay in the second-level cache while all panels are read.
constexpr int64_t kGroupFloats = int64_t{1} << 17;

// The accumulators of a tile: rows of a block times outputs of a panel.
constexpr int64_t kTile = kMaxBlockRows * kPanel;

// The operands of one call, reduced to the columns that it writes.
template <typename Element>
struct Operands {
  ConstRows x;
  const Element* panels;
  Rows y;
};

// Blocks [first, last) of a call's rows.
struct BlockRange {
  const RowBlocks& blocks;
  int64_t first, last;
  int64_t count() const { return last - first; }
  int64_t first_row() const { return blocks.Begin(first); }
};

// One segment of some columns, and the panel data that is read after it, which is prefetched.
template <typename Element>
struct Part {
  int64_t first_step, steps;
  int64_t first_column, columns;
  const Element* next;
};

// Returns the panel that starts with `column`, from `step` on.
template <typename Element>
HWY_INLINE const Element* PanelAt(const Operands<Element>& o, int64_t column, int64_t step) {
  return o.panels + (column / kPanel * o.x.width + step) * kStepElements<Element>;
}

// Returns a panel for block `b` and the memory that the block prefetches while it computes. A single block prefetches
// the panel itself, a little ahead. Several blocks each prefetch a share of the next panels, so that memory is read
// while they compute. With the first panel they prefetch the next block's rows, if x is large and read in place.
template <LeftLayout kLayout, typename Element>
HWY_INLINE RightOf<Element> PanelOf(const Operands<Element>& o, const Part<Element>& part, const BlockRange& range,
                                    int64_t b) {
  constexpr int64_t kSharing = 4, kStep = kStepElements<Element>, kBytes = sizeof(Element);
  RightOf<Element> right = {PanelAt(o, part.first_column, part.first_step), kStep, o.x.width * kStep};
  const int64_t sharing = std::min(range.count(), kSharing), block = b - range.first;
  if (sharing == 1) return right;
  const bool rows_are_far = o.x.stride == o.x.width && o.x.rows * o.x.width > kGroupFloats / 2;
  if (kLayout == LeftLayout::kRowMajor && part.first_column == 0 && rows_are_far) {
    const int64_t rows = range.blocks.Size(b);
    right.ahead = o.x[range.blocks.Begin(b) + rows] + rows * part.first_step;
    right.ahead_bytes = rows * static_cast<int64_t>(sizeof(float));
    return right;
  }
  right.ahead = part.next + std::min(block, sharing - 1) * (part.steps * kStep / sharing);
  right.ahead_bytes = block < sharing ? kStep / sharing * kBytes : 0;
  return right;
}

// Computes one part for all blocks; left(block) returns a block's rows, chains(block) its sums.
template <LeftLayout kLayout, typename Element, typename LeftOf, typename ChainsOf>
HWY_INLINE void BlocksPart(const Operands<Element>& o, const BlockRange& range, const Part<Element>& part,
                           const LeftOf& left, const ChainsOf& chains) {
  for (int64_t b = range.first; b < range.last; ++b) {
    AnyRowBlock<kLayout>(range.blocks.Size(b), part.steps, left(b), PanelOf<kLayout>(o, part, range, b), chains(b),
                         part.columns);
  }
}

// x[rows, steps] -> packed[steps][rows]. Prefetches the same steps of as many following rows.
HWY_INLINE void PackRows(const float* x, int64_t ldx, int64_t rows, int64_t steps, float* packed) {
  int64_t s = 0;
  for (; s + 16 <= steps; s += 16) {  // a cache line of each row
    for (int64_t next = rows; next < 2 * rows; ++next) __builtin_prefetch(x + next * ldx + s);
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

// Rows are read in place: each panel is read once, as one contiguous stream.
template <typename Element>
void StreamPanels(const Operands<Element>& o) {
  const RowBlocks blocks{o.x.rows};
  const BlockRange range = {blocks, 0, blocks.count};
  const int64_t at_once = kPanel * (o.x.rows <= 2 ? 4 : o.x.rows <= 4 ? 2 : 1);
  for (int64_t c = 0; c < o.y.width; c += at_once) {
    for (int64_t s = 0; s < o.x.width; s += kSegment) {
      const int64_t steps = std::min(kSegment, o.x.width - s);
      BlocksPart<LeftLayout::kRowMajor>(
          o, range, {s, steps, c, std::min(at_once, o.y.width - c), PanelAt(o, c, s + steps)},
          [&](int64_t b) { return Left{o.x[blocks.Begin(b)] + s, o.x.stride}; },
          [&](int64_t b) {
            float* const y = o.y[blocks.Begin(b)] + c;
            return Chains{nullptr, 0, s > 0 ? y : nullptr, o.y.stride, y, o.y.stride};
          });
    }
  }
}

template <typename Element>
void StreamPanelsByGroups(const Operands<Element>& o) {
  const RowBlocks blocks{o.x.rows};
  const int64_t groups = std::min(blocks.count, (o.x.rows * o.x.width + kGroupFloats - 1) / kGroupFloats);
  for (int64_t g = 0; g < groups; ++g) {
    const Range rows = {blocks.Begin(blocks.count * g / groups), blocks.Begin(blocks.count * (g + 1) / groups)};
    StreamPanels<Element>({o.x.Slice(rows), o.panels, o.y.Slice(rows)});
  }
}

// Computes steps [first, first + steps) of the columns from `column` on, whole segments in order; their sums are kept
// in `tiles`, one of kTile per block, which hold the sums of the earlier steps.
template <typename Element, typename LeftOf>
HWY_INLINE void SumSegments(const Operands<Element>& o, const BlockRange& range, int64_t first, int64_t steps,
                            int64_t column, const LeftOf& left, float* tiles) {
  const int64_t columns = std::min(kPanel, o.y.width - column), end = first + steps;
  for (int64_t s = first; s < end; s += kSegment) {
    const int64_t here = std::min(kSegment, end - s);
    const Element* const next = s + here < end ? PanelAt(o, column, s + here) : PanelAt(o, column + kPanel, first);
    BlocksPart<LeftLayout::kStepMajor>(
        o, range, {s, here, column, columns, next}, [&](int64_t b) { return left(b, s); },
        [&](int64_t b) {
          float* const tile = tiles + (b - range.first) * kTile;
          const float* const addend = s > 0 ? tile : nullptr;
          if (s + here < o.x.width) return Chains{nullptr, 0, addend, kPanel, tile, kPanel};
          return Chains{nullptr, 0, addend, kPanel, o.y[range.blocks.Begin(b)] + column, o.y.stride};
        });
  }
}

// Many long rows: a group of packed rows stays in cache while two segments of all panels are read. Sums of segments are
// kept in adjacent tiles: at the stride of y's rows they would evict each other. With two segments, only every second
// sum leaves the caches (2048 steps reach 0.91 of peak, one segment at a time 0.87 to 0.90).
template <typename Element>
void StreamSegments(const Operands<Element>& o) {
  const RowBlocks blocks{o.x.rows};
  constexpr int64_t kMostBlocks = 10, kMostSteps = 2 * kSegment;
  const int64_t groups = (blocks.count + kMostBlocks - 1) / kMostBlocks;
  float* const packed =
      ThreadScratch(static_cast<size_t>(kMostBlocks * (kMaxBlockRows * kMostSteps + Panels(o.y.width) * kTile)));
  float* const tiles = packed + kMostBlocks * kMaxBlockRows * kMostSteps;
  for (int64_t g = 0; g < groups; ++g) {
    const BlockRange range = {blocks, blocks.count * g / groups, blocks.count * (g + 1) / groups};
    for (int64_t s = 0; s < o.x.width; s += kMostSteps) {
      const int64_t steps = std::min(kMostSteps, o.x.width - s);
      const auto packed_of = [&](int64_t b) { return packed + (blocks.Begin(b) - range.first_row()) * steps; };
      for (int64_t b = range.first; b < range.last; ++b) {
        PackRows(o.x[blocks.Begin(b)] + s, o.x.stride, blocks.Size(b), steps, packed_of(b));
      }
      const auto left = [&](int64_t b, int64_t step) {
        return Left{packed_of(b) + (step - s) * blocks.Size(b), blocks.Size(b)};
      };
      for (int64_t c = 0; c < o.y.width; c += kPanel) {
        const int64_t tile = steps == o.x.width ? 0 : c / kPanel * range.count();
        SumSegments(o, range, s, steps, c, left, tiles + tile * kTile);
      }
    }
  }
}

template <typename Element>
void ProductOf(const Operands<Element>& o) {
  if (o.x.stride < kLongStride || o.x.rows * o.x.width <= kGroupFloats || o.y.width < 4 * kPanel) {
    return StreamPanelsByGroups(o);
  }
  StreamSegments(o);
}

void ProductOfFloats(const ConstRows& x, const float* panels, const Rows& y) { ProductOf<float>({x, panels, y}); }

void ProductOfPairs(const ConstRows& x, const Bf16Pair* panels, const Rows& y) { ProductOf<Bf16Pair>({x, panels, y}); }

}  // namespace
}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(ProductOfFloats);
HWY_EXPORT(ProductOfPairs);

void Product(const ConstRows& x, const PackedMatrix& packed, const Rows& y, const Range& panels) {
  const int64_t first = panels.begin * kPanel, count = std::min(y.width, panels.end * kPanel) - first;
  if (x.rows <= 0 || count <= 0) return;
  const Rows columns = {y.data + first, x.rows, count, y.stride};
  if (x.width == 0) {
    for (int64_t r = 0; r < x.rows; ++r) std::fill_n(columns[r], count, 0.0f);
    return;
  }
  const PackedMatrix matrix = packed.FromPanel(panels.begin, x.width);
  const auto own = [&] {
    if (matrix.is_bf16()) {
      HWY_DYNAMIC_DISPATCH(ProductOfPairs)(x, matrix.pairs(), columns);
    } else {
      HWY_DYNAMIC_DISPATCH(ProductOfFloats)(x, matrix.floats(), columns);
    }
  };
  ProductSubstitute* const substitute = SubstituteOfProducts();
  if (substitute == nullptr || count != y.width || matrix.is_bf16()) return own();
  substitute->Product(x, matrix.floats(), y, own);
}

}  // namespace reprise::kernels
#endif
