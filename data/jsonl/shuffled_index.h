#ifndef DATA_JSONL_SHUFFLED_INDEX_H_
#define DATA_JSONL_SHUFFLED_INDEX_H_

// The order in which a file's problems are met: each epoch has every problem once, in an order of its own, and any rank
// can tell the problem at any place without going through those before it.

#include <cstdint>

#include "core/random/draw.h"

namespace reprise::data {

// The place-th index of epoch place / count, as an endless sequence: over each epoch a permutation of 0 .. count - 1.
// A keyed permutation of 2 b bits, a Feistel network of eight rounds whose round functions are draws, is walked until
// it lands below count (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002); b is the least with
// 4^b >= count, so that four steps are expected at most. Draws are at (step: epoch, turn: 1 + round, token: half),
// where a run without a file draws its tasks. 1 <= count <= 2^32. Pure.
int64_t ShuffledIndex(int64_t count, uint64_t seed, Purpose purpose, uint64_t place);

}  // namespace reprise::data

#endif  // DATA_JSONL_SHUFFLED_INDEX_H_
