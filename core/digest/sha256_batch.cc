#include "core/digest/sha256_batch.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "core/digest/sha256_message.h"
#include "core/digest/sha256_pair.h"
#include "core/status/check.h"

#define REPRISE_AVX512 __attribute__((target("avx512f,avx512bw")))
#define REPRISE_LANES __attribute__((target("avx512f,avx512bw"), always_inline)) inline

namespace reprise {
namespace {

using sha256::kBlock;

// Fewer messages than this are digested faster in pairs, by SHA instructions.
constexpr size_t kFewest = 10;

using Words = __m512i;  // a word of each lane

// The 16 words of one block of each lane: word i of all lanes is words[i]. A transpose of 16 x 16, and bytes swapped.
REPRISE_LANES void LoadWords(const std::byte* const* blocks, size_t offset, Words (&words)[16]) {
  const __m512i big_endian = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
  Words row[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) row[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(blocks[i] + offset), big_endian);
  Words two[16];  // pairs of lanes, words side by side
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    two[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
    two[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
  }
  Words four[16];  // four[4 i + j] has words j, j + 4, j + 8, j + 12 of lanes 4 i to 4 i + 3
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    four[i] = _mm512_unpacklo_epi64(two[i], two[i + 2]);
    four[i + 1] = _mm512_unpackhi_epi64(two[i], two[i + 2]);
    four[i + 2] = _mm512_unpacklo_epi64(two[i + 1], two[i + 3]);
    four[i + 3] = _mm512_unpackhi_epi64(two[i + 1], two[i + 3]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Words low01 = _mm512_shuffle_i32x4(four[j], four[4 + j], 0x44);
    const Words high01 = _mm512_shuffle_i32x4(four[j], four[4 + j], 0xee);
    const Words low23 = _mm512_shuffle_i32x4(four[8 + j], four[12 + j], 0x44);
    const Words high23 = _mm512_shuffle_i32x4(four[8 + j], four[12 + j], 0xee);
    words[j] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    words[4 + j] = _mm512_shuffle_i32x4(low01, low23, 0xdd);
    words[8 + j] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    words[12 + j] = _mm512_shuffle_i32x4(high01, high23, 0xdd);
  }
}

REPRISE_LANES Words Xor3(Words a, Words b, Words c) { return _mm512_ternarylogic_epi32(a, b, c, 0x96); }

// The functions of FIPS 180-4, 4.1.2.
REPRISE_LANES Words BigSigma0(Words x) {
  return Xor3(_mm512_ror_epi32(x, 2), _mm512_ror_epi32(x, 13), _mm512_ror_epi32(x, 22));
}
REPRISE_LANES Words BigSigma1(Words x) {
  return Xor3(_mm512_ror_epi32(x, 6), _mm512_ror_epi32(x, 11), _mm512_ror_epi32(x, 25));
}
REPRISE_LANES Words SmallSigma0(Words x) {
  return Xor3(_mm512_ror_epi32(x, 7), _mm512_ror_epi32(x, 18), _mm512_srli_epi32(x, 3));
}
REPRISE_LANES Words SmallSigma1(Words x) {
  return Xor3(_mm512_ror_epi32(x, 17), _mm512_ror_epi32(x, 19), _mm512_srli_epi32(x, 10));
}
REPRISE_LANES Words Choose(Words e, Words f, Words g) { return _mm512_ternarylogic_epi32(e, f, g, 0xca); }
REPRISE_LANES Words Majority(Words a, Words b, Words c) { return _mm512_ternarylogic_epi32(a, b, c, 0xe8); }
REPRISE_LANES Words Add(Words a, Words b) { return _mm512_add_epi32(a, b); }

// Rounds [kFirst, kFirst + 16) of 6.2.2. There the working variables a to h move down by one place in each round; here
// the variables s stay in place, and their names move.
template <int kFirst>
REPRISE_LANES void SixteenRounds(Words (&w)[16], Words (&s)[8]) {
#pragma GCC unroll 16
  for (int t = 0; t < 16; ++t) {
    if (kFirst > 0) {
      w[t] = Add(Add(w[t], SmallSigma0(w[(t + 1) % 16])), Add(w[(t + 9) % 16], SmallSigma1(w[(t + 14) % 16])));
    }
    const int a = (16 - t) % 8, b = (17 - t) % 8, c = (18 - t) % 8, d = (19 - t) % 8;
    const int e = (20 - t) % 8, f = (21 - t) % 8, g = (22 - t) % 8, h = (23 - t) % 8;
    // T1 is given + chosen + sigma. Three instructions separate one e from the next, the minimum: that chain is the
    // lower bound on a round's time.
    const Words sigma = BigSigma1(s[e]), chosen = Choose(s[e], s[f], s[g]);
    const Words given = Add(s[h], Add(w[t], _mm512_set1_epi32(static_cast<int>(sha256::kRound[kFirst + t]))));
    s[h] = Add(Add(Add(given, chosen), Add(BigSigma0(s[a]), Majority(s[a], s[b], s[c]))), sigma);
    s[d] = Add(Add(Add(s[d], given), chosen), sigma);
  }
}

// `blocks` blocks of every lane's input.
REPRISE_AVX512 void Absorb(Words (&state)[8], const std::byte* const* inputs, size_t blocks) {
  for (size_t block = 0; block < blocks; ++block) {
    Words w[16];
    LoadWords(inputs, block * kBlock, w);
    Words s[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) s[i] = state[i];
    SixteenRounds<0>(w, s);
    SixteenRounds<16>(w, s);
    SixteenRounds<32>(w, s);
    SixteenRounds<48>(w, s);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) state[i] = Add(state[i], s[i]);
  }
}

REPRISE_AVX512 void ByLanes(absl::Span<const absl::Span<const std::byte>> messages, absl::Span<Digest> digests) {
  const std::byte* inputs[kSha256Lanes];
  std::array<sha256::Tail, kSha256Lanes> tails;
  const std::byte* tail_inputs[kSha256Lanes];
  for (size_t lane = 0; lane < kSha256Lanes; ++lane) {  // lanes without a message repeat the first
    const absl::Span<const std::byte> message = messages[lane < messages.size() ? lane : 0];
    inputs[lane] = message.data();
    tails[lane] = sha256::Tail(message);
    tail_inputs[lane] = tails[lane].bytes;
  }
  Words state[8];
  for (int i = 0; i < 8; ++i) state[i] = _mm512_set1_epi32(static_cast<int>(sha256::kInitial[i]));
  Absorb(state, inputs, messages[0].size() / kBlock);
  Absorb(state, tail_inputs, tails[0].blocks);
  alignas(64) uint32_t words[8][kSha256Lanes];
  for (int i = 0; i < 8; ++i) _mm512_store_si512(words[i], state[i]);
  for (size_t lane = 0; lane < messages.size(); ++lane) {
    for (size_t byte = 0; byte < digests[lane].size(); ++byte) {
      digests[lane][byte] = static_cast<std::byte>(words[byte / 4][lane] >> (24 - 8 * (byte % 4)));
    }
  }
}

void ByPairs(absl::Span<const absl::Span<const std::byte>> messages, absl::Span<Digest> digests) {
  size_t i = 0;
  for (; i + 2 <= messages.size(); i += 2) {
    const std::array<Digest, 2> both = Sha256Pair(messages[i], messages[i + 1]);
    digests[i] = both[0], digests[i + 1] = both[1];
  }
  if (i < messages.size()) digests[i] = Sha256(messages[i]);
}

// Messages order[first .. last), all of one size.
struct Group {
  size_t first, last;
};

// Splits runs of messages of equal size into groups that are digested together.
std::vector<Group> GroupsOf(absl::Span<const absl::Span<const std::byte>> messages, absl::Span<const size_t> order) {
  std::vector<Group> groups;
  for (size_t first = 0; first < order.size();) {
    size_t run = first;
    while (run < order.size() && messages[order[run]].size() == messages[order[first]].size()) ++run;
    while (first < run) {
      const size_t count = Sha256BatchSize(run - first);
      groups.push_back({first, first + count});
      first += count;
    }
  }
  return groups;
}

}  // namespace

size_t Sha256BatchSize(size_t messages) {
  static const bool kHasLanes = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  return std::min(messages, kHasLanes && messages >= kFewest ? kSha256Lanes : size_t{2});
}

void Sha256Lanes(absl::Span<const absl::Span<const std::byte>> messages, absl::Span<Digest> digests) {
  CHECK_LE(messages.size(), kSha256Lanes);
  CHECK_EQ(messages.size(), digests.size());
  for (const absl::Span<const std::byte> message : messages) CHECK_EQ(message.size(), messages[0].size());
  if (Sha256BatchSize(messages.size()) > 2) return ByLanes(messages, digests);
  ByPairs(messages, digests);
}

std::vector<Digest> Sha256Batch(absl::Span<const absl::Span<const std::byte>> messages, ThreadPool& pool) {
  std::vector<size_t> order(messages.size());
  std::iota(order.begin(), order.end(), 0);
  // The largest first, so that threads finish together.
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return messages[a].size() > messages[b].size(); });
  const std::vector<Group> groups = GroupsOf(messages, order);
  std::vector<Digest> digests(messages.size());
  pool.ForEach(static_cast<int64_t>(groups.size()), [&](int64_t index, int) {
    const Group group = groups[index];
    std::array<absl::Span<const std::byte>, kSha256Lanes> inputs;
    std::array<Digest, kSha256Lanes> outputs;
    const size_t count = group.last - group.first;
    for (size_t i = 0; i < count; ++i) inputs[i] = messages[order[group.first + i]];
    Sha256Lanes(absl::MakeConstSpan(inputs).first(count), absl::MakeSpan(outputs).first(count));
    for (size_t i = 0; i < count; ++i) digests[order[group.first + i]] = outputs[i];
  });
  return digests;
}

}  // namespace reprise
