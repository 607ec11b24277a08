#include "data/jsonl/shuffled_index.h"

#include "core/status/check.h"

namespace reprise::data {
namespace {

constexpr uint64_t kRounds = 8;

}  // namespace

int64_t ShuffledIndex(int64_t count, uint64_t seed, Purpose purpose, uint64_t place) {
  CHECK_GE(count, 1);
  CHECK_LE(count, int64_t{1} << 32);
  const uint64_t size = static_cast<uint64_t>(count);
  uint64_t bits = 1;
  while ((uint64_t{1} << (2 * bits)) < size) ++bits;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const uint64_t epoch = (place / size) & 0xffffffff;  // a draw's step has 32 bits
  uint64_t index = place % size;
  do {
    uint64_t left = index >> bits, right = index & mask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t drawn = DrawBits(seed, purpose, {.step = epoch, .turn = 1 + round, .token = right})[0];
      const uint64_t next = left ^ (drawn & mask);
      left = right;
      right = next;
    }
    index = left << bits | right;
  } while (index >= size);
  return static_cast<int64_t>(index);
}

}  // namespace reprise::data
