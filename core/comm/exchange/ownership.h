#ifndef CORE_COMM_EXCHANGE_OWNERSHIP_H_
#define CORE_COMM_EXCHANGE_OWNERSHIP_H_

// Assigns each parameter to the rank that updates it. A piece is a whole tensor, so that an optimizer may work on whole
// matrices (Muon), or a block of rows of a tensor that can be split by rows (embedding, lm-head: too large for one
// rank, and updated elementwise). Ownership decides which rank computes, not the result: no bit may depend on it.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace reprise {

// A tensor within a flat array of floats.
struct TensorExtent {
  int64_t offset = 0;  // first element
  int64_t size = 0;    // rows * row_size
  int64_t rows = 1;
  int64_t row_size = 0;
  bool divisible_by_rows = false;  // may be split into blocks of rows
};

struct Piece {
  int64_t offset = 0;
  int64_t size = 0;  // > 0
  int tensor = 0;    // index of its tensor
  int owner = 0;     // rank
};

// A range of the flat array.
struct FlatRange {
  int64_t offset = 0;
  int64_t size = 0;
};

class Ownership {
 public:
  // Assigns `tensors` (ascending, not overlapping, gaps allowed: checked) to ranks [0, ranks): a divisible tensor is
  // first split into `ranks` blocks of rows, as equal as rows allow; then the largest remaining piece is repeatedly
  // assigned to the least loaded rank (ties: lowest offset, lowest rank). Deterministic. No rank gets more than the
  // mean plus the largest piece (Graham 1969).
  static Ownership Deal(absl::Span<const TensorExtent> tensors, int ranks);

  int ranks() const { return static_cast<int>(pieces_of_.size()); }
  absl::Span<const Piece> PiecesOf(int rank) const;  // by offset
  int64_t FloatsOf(int rank) const;                  // sum of their sizes
  int64_t MaxFloats() const;                         // the largest FloatsOf
  int64_t FlatEnd() const { return flat_end_; }      // the flat array has at least this many elements

 private:
  std::vector<std::vector<Piece>> pieces_of_;
  std::vector<int64_t> floats_;  // by rank
  int64_t flat_end_ = 0;
};

}  // namespace reprise

#endif  // CORE_COMM_EXCHANGE_OWNERSHIP_H_
