#include "core/comm/exchange/ownership.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

// Tensors of random shapes (also empty ones) with gaps between them.
std::vector<TensorExtent> AnyTensors() {
  std::vector<TensorExtent> tensors(static_cast<size_t>(*rc::gen::inRange(0, 20)));
  int64_t offset = 0;
  for (TensorExtent& tensor : tensors) {
    tensor.offset = offset + *rc::gen::inRange(0, 3);
    tensor.rows = *rc::gen::inRange(0, 12);
    tensor.row_size = *rc::gen::inRange(0, 9);
    tensor.size = tensor.rows * tensor.row_size;
    tensor.divisible_by_rows = *rc::gen::arbitrary<bool>();
    offset = tensor.offset + tensor.size;
  }
  return tensors;
}

TEST(OwnershipTest, AssignsTheLargestFirstToTheLeastLoadedRank) {
  // Sizes 6, 2, 4, 4, on two ranks: 6 to rank 0; 4 (offset 8) to rank 1; 4 (offset 12) to rank 1; 2 to rank 0.
  const std::vector<TensorExtent> tensors = {{0, 6, 3, 2}, {6, 2, 1, 2}, {8, 4, 2, 2}, {12, 4, 2, 2}};
  const Ownership ownership = Ownership::Deal(tensors, 2);
  ASSERT_EQ(ownership.PiecesOf(0).size(), 2u);
  EXPECT_EQ(ownership.PiecesOf(0)[0].tensor, 0);
  EXPECT_EQ(ownership.PiecesOf(0)[1].tensor, 1);
  EXPECT_EQ(ownership.PiecesOf(1)[0].tensor, 2);
  EXPECT_EQ(ownership.PiecesOf(1)[1].tensor, 3);
  EXPECT_EQ(ownership.FloatsOf(0), 8);
  EXPECT_EQ(ownership.FloatsOf(1), 8);
}

TEST(OwnershipTest, SplitsOnlyDivisibleTensorsAndOnlyBetweenRows) {
  const std::vector<TensorExtent> tensors = {{0, 70, 7, 10, /*divisible_by_rows=*/true}, {70, 30, 3, 10}};
  const Ownership ownership = Ownership::Deal(tensors, 3);
  int blocks = 0;
  for (int rank = 0; rank < 3; ++rank) {
    for (const Piece& piece : ownership.PiecesOf(rank)) {
      EXPECT_EQ(piece.offset % 10, 0);
      EXPECT_EQ(piece.size % 10, 0);
      blocks += piece.tensor == 0;
      EXPECT_TRUE(piece.tensor == 0 || piece.size == 30);
    }
  }
  EXPECT_EQ(blocks, 3);
}

RC_GTEST_PROP(OwnershipTest, EveryElementHasOneOwner, ()) {
  const std::vector<TensorExtent> tensors = AnyTensors();
  const Ownership ownership = Ownership::Deal(tensors, *rc::gen::inRange(1, 9));
  std::vector<int> owners(static_cast<size_t>(tensors.empty() ? 0 : tensors.back().offset + tensors.back().size));
  RC_ASSERT(ownership.FlatEnd() <= static_cast<int64_t>(owners.size()));
  for (int rank = 0; rank < ownership.ranks(); ++rank) {
    for (const Piece& piece : ownership.PiecesOf(rank)) {
      RC_ASSERT(piece.owner == rank);
      const TensorExtent& tensor = tensors[piece.tensor];
      RC_ASSERT(tensor.offset <= piece.offset && piece.offset + piece.size <= tensor.offset + tensor.size);
      RC_ASSERT(tensor.divisible_by_rows || piece.size == tensor.size);
      for (int64_t i = 0; i < piece.size; ++i) ++owners[piece.offset + i];
    }
  }
  std::vector<int> expected(owners.size());
  for (const TensorExtent& tensor : tensors) std::fill_n(expected.begin() + tensor.offset, tensor.size, 1);
  RC_ASSERT(owners == expected);
}

RC_GTEST_PROP(OwnershipTest, NoRankGetsMoreThanTheMeanPlusTheLargestPiece, ()) {
  const std::vector<TensorExtent> tensors = AnyTensors();
  const Ownership ownership = Ownership::Deal(tensors, *rc::gen::inRange(1, 9));
  int64_t total = 0, biggest = 0;
  for (int rank = 0; rank < ownership.ranks(); ++rank) {
    total += ownership.FloatsOf(rank);
    for (const Piece& piece : ownership.PiecesOf(rank)) biggest = std::max(biggest, piece.size);
  }
  RC_ASSERT(ownership.MaxFloats() * ownership.ranks() <= total + biggest * ownership.ranks());
}

TEST(OwnershipDeathTest, OverlappingTensorsAreABug) {
  const std::vector<TensorExtent> tensors = {{0, 6, 3, 2}, {5, 2, 1, 2}};
  EXPECT_DEATH(Ownership::Deal(tensors, 1), "CHECK failed");
}

}  // namespace
}  // namespace reprise
