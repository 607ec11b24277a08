#ifndef KERNELS_CONTRACT_OPERANDS_H_
#define KERNELS_CONTRACT_OPERANDS_H_

// Arguments that the kernels share: views of rows, ranges of them, and the destination of a gradient that is a chain
// over rows.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/contract/numeric_contract.h"

namespace reprise::kernels {

// [begin, end) of rows, tokens or panels.
struct Range {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
};

// `rows` rows of `width` numbers each, `stride` numbers apart: {data, rows, width} is dense. A kernel takes its sizes
// from its views; views that one call relates to each other must agree.
template <typename T>
struct RowView {
  T* data = nullptr;
  int64_t rows = 0, width = 0;
  int64_t stride = width;

  T* operator[](int64_t row) const { return data + row * stride; }
  RowView Slice(const Range& range) const { return {data + range.begin * stride, range.size(), width, stride}; }
  RowView Columns(int64_t first, int64_t count) const { return {data + first, rows, count, stride}; }

  operator RowView<const T>() const  // NOLINT: as a pointer
    requires(!std::is_const_v<T>)
  {
    return {data, rows, width, stride};
  }
};
using Rows = RowView<float>;
using ConstRows = RowView<const float>;

// Where a call continues a gradient whose elements are chains over a shard's rows, restarted at every kSegment-th row
// of the shard.
struct GradientChains {
  // Dense: the sum of the finished segments; after the shard's last call, the gradient. Null: the parameter is frozen,
  // and its gradient is not computed.
  float* total = nullptr;
  // As large: the chains of the unfinished segment. Read or written only if a call starts or ends inside a segment;
  // may be null if none does (one call with first_row == 0 and last).
  float* open = nullptr;
  int64_t first_row = 0;  // index of the call's first row within the shard; 0 starts a shard: old contents are ignored
  bool last = false;      // the shard's last call; it may have no rows, and a shard without rows has total = 0

  // The chains from element `at` on.
  GradientChains From(int64_t at) const {
    return {total == nullptr ? nullptr : total + at, open == nullptr ? nullptr : open + at, first_row, last};
  }

  // What a last call without rows does: the chains of `size` elements already contain all rows.
  void Close(int64_t size) const {
    if (first_row == 0) std::fill_n(total, size, 0.0f);
    if (first_row % kSegment == 0) return;
    for (int64_t i = 0; i < size; ++i) total[i] = first_row < kSegment ? open[i] : total[i] + open[i];
  }
};

}  // namespace reprise::kernels

#endif  // KERNELS_CONTRACT_OPERANDS_H_
