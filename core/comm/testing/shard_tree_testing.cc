#include "core/comm/testing/shard_tree_testing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/random/draw.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise::testing {

void AddOneByOne(int64_t n, const float* right, float* left) {
  for (int64_t i = 0; i < n; ++i) left[i] += right[i];
}

std::vector<float> ShardGradient(uint64_t seed, int shard, int64_t size) {
  std::vector<float> gradient;
  for (int64_t i = 0; i < size; ++i) {
    const auto bits =
        DrawBits(seed, Purpose::kTest, {.step = static_cast<uint64_t>(shard), .token = static_cast<uint64_t>(i)});
    const float mantissa = 1.0f + static_cast<float>(bits[0] >> 9) * 0x1p-23f;
    const int exponent = static_cast<int>(bits[1] % 25) - 12;
    gradient.push_back(std::ldexp(bits[2] % 2 == 0 ? mantissa : -mantissa, exponent));
  }
  return gradient;
}

std::vector<float> PairwiseTree(uint64_t seed, int begin, int end, int64_t size) {
  if (end - begin == 1) return ShardGradient(seed, begin, size);
  std::vector<float> left = PairwiseTree(seed, begin, (begin + end) / 2, size);
  AddOneByOne(size, PairwiseTree(seed, (begin + end) / 2, end, size).data(), left.data());
  return left;
}

std::vector<uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

std::vector<ExchangeBucket> BucketsOf(const Ownership& ownership, int64_t floats_per_rank) {
  int tensors = 0;
  for (int rank = 0; rank < ownership.ranks(); ++rank) {
    for (const Piece& piece : ownership.PiecesOf(rank)) tensors = std::max(tensors, piece.tensor + 1);
  }
  std::vector<int> order(static_cast<size_t>(tensors));
  std::iota(order.begin(), order.end(), 0);
  return BucketsInOrder(ownership, order, floats_per_rank);
}

absl::Status SumOwned(absl::Span<SubtreeSum> mine, TreeExchange* exchange) {
  if (exchange->comm().size() == 1) return absl::OkStatus();  // one subtree: the tree is finished
  std::vector<float*> sums;
  for (SubtreeSum& subtree : mine) {
    CHECK_GE(subtree.sum.size(), exchange->ownership().FlatEnd());
    sums.push_back(subtree.sum.mutable_data<float>().data());
  }
  BucketSum& sum = exchange->sum();
  while (!sum.is_finished()) {
    if (sum.HasRoom() && sum.started() < static_cast<int64_t>(sum.buckets().size())) {
      RETURN_IF_ERROR(sum.Start(sums));
    } else {
      RETURN_IF_ERROR(sum.WaitForOldest());
    }
  }
  sum.Reset();
  return absl::OkStatus();
}

}  // namespace reprise::testing
