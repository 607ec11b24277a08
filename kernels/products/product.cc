#include <algorithm>
#include <cstddef>

#include "kernels/products/products.h"
#include "kernels/products/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/product.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/products/microkernel-inl.h"

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

// One block of rows and one segment for some of the columns.
template <LeftLayout kLayout>
HWY_INLINE void BlockSegment(const Operands& o, const Left& left, int64_t first_row, int64_t rows, int64_t first_step,
                             int64_t steps, int64_t first_column, int64_t columns) {
  const Right right = {o.panels + first_column * o.contraction + first_step * kPanel, kPanel, o.contraction * kPanel};
  const Chains chains = {nullptr, 0, first_step > 0, o.y + first_row * o.ldy + first_column, o.ldy};
  AnyRowBlock<kLayout>(rows, steps, left, right, chains, columns);
}

// x[rows, steps] -> packed[steps][rows].
HWY_INLINE void PackRows(const float* x, int64_t ldx, int64_t rows, int64_t steps, float* packed) {
  int64_t s = 0;
  for (; s + 16 <= steps; s += 16) {
    for (int64_t r = 0; r < rows; ++r) {
      const float* const from = x + r * ldx + s;
      float* const to = packed + s * rows + r;
      REPRISE_UNROLL for (int j = 0; j < 16; ++j) to[j * rows] = from[j];
    }
  }
  for (; s < steps; ++s) {
    for (int64_t r = 0; r < rows; ++r) packed[s * rows + r] = x[r * ldx + s];
  }
}

// Rows read where they lie: each panel is read once, as one contiguous stream.
void StreamPanels(const Operands& o) {
  const RowBlocks blocks{o.rows};
  const int64_t at_once = kPanel * (o.rows <= 2 ? 4 : o.rows <= 4 ? 2 : 1);
  for (int64_t c = 0; c < o.columns; c += at_once) {
    for (int64_t s = 0; s < o.contraction; s += kSegment) {
      for (int64_t b = 0; b < blocks.count; ++b) {
        BlockSegment<LeftLayout::kRowMajor>(o, {o.x + blocks.Begin(b) * o.ldx + s, o.ldx}, blocks.Begin(b),
                                            blocks.Size(b), s, std::min(kSegment, o.contraction - s), c,
                                            std::min(at_once, o.columns - c));
      }
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
  const int64_t group = kGroupFloats / kSegment / kMaxBlockRows;
  float* const packed = ThreadScratch(static_cast<size_t>(kGroupFloats));
  for (int64_t first = 0; first < blocks.count; first += group) {
    const int64_t last = std::min(first + group, blocks.count), first_row = blocks.Begin(first);
    for (int64_t s = 0; s < o.contraction; s += kSegment) {
      const int64_t steps = std::min(kSegment, o.contraction - s);
      for (int64_t b = first; b < last; ++b) {
        PackRows(o.x + blocks.Begin(b) * o.ldx + s, o.ldx, blocks.Size(b), steps,
                 packed + (blocks.Begin(b) - first_row) * steps);
      }
      for (int64_t c = 0; c < o.columns; c += kPanel) {
        for (int64_t b = first; b < last; ++b) {
          BlockSegment<LeftLayout::kStepMajor>(o, {packed + (blocks.Begin(b) - first_row) * steps, blocks.Size(b)},
                                               blocks.Begin(b), blocks.Size(b), s, steps, c,
                                               std::min(kPanel, o.columns - c));
        }
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
  HWY_DYNAMIC_DISPATCH(ProductOf)
  (rows, columns, contraction, x, ldx, packed + first_column * contraction, y + first_column, ldy);
}

}  // namespace reprise::kernels
#endif
