#include "core/comm/exchange/ownership.h"

#include <algorithm>

#include "core/status/check.h"

namespace reprise {
namespace {

std::vector<Piece> CutIntoPieces(absl::Span<const TensorExtent> tensors, int ranks) {
  std::vector<Piece> pieces;
  int64_t end = 0;
  for (size_t t = 0; t < tensors.size(); ++t) {
    const TensorExtent& tensor = tensors[t];
    CHECK_GE(tensor.offset, end);
    CHECK_EQ(tensor.size, tensor.rows * tensor.row_size);
    end = tensor.offset + tensor.size;
    const int64_t blocks = tensor.divisible_by_rows ? ranks : 1;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t first = block * tensor.rows / blocks, last = (block + 1) * tensor.rows / blocks;
      const int64_t size = (last - first) * tensor.row_size;
      if (size > 0) pieces.push_back({tensor.offset + first * tensor.row_size, size, static_cast<int>(t), 0});
    }
  }
  return pieces;
}

}  // namespace

Ownership Ownership::Deal(absl::Span<const TensorExtent> tensors, int ranks) {
  CHECK_GE(ranks, 1);
  Ownership result;
  result.pieces_of_.resize(static_cast<size_t>(ranks));
  std::vector<Piece> pieces = CutIntoPieces(tensors, ranks);
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.size > b.size; });
  std::vector<int64_t>& load = result.floats_;
  load.resize(static_cast<size_t>(ranks));
  for (Piece& piece : pieces) {
    piece.owner = static_cast<int>(std::min_element(load.begin(), load.end()) - load.begin());
    load[piece.owner] += piece.size;
    result.pieces_of_[piece.owner].push_back(piece);
    result.flat_end_ = std::max(result.flat_end_, piece.offset + piece.size);
  }
  for (std::vector<Piece>& own : result.pieces_of_) {
    std::sort(own.begin(), own.end(), [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
  }
  return result;
}

absl::Span<const Piece> Ownership::PiecesOf(int rank) const { return pieces_of_[rank]; }

int64_t Ownership::FloatsOf(int rank) const { return floats_[rank]; }

int64_t Ownership::MaxFloats() const { return *std::max_element(floats_.begin(), floats_.end()); }

}  // namespace reprise
