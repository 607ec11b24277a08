#include "core/digest/sha256_pair.h"

#include <cpuid.h>
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "core/status/check.h"

#define REPRISE_SHA __attribute__((target("sha,sse4.1"), always_inline)) inline

namespace reprise {
namespace {

constexpr size_t kBlock = 64;

// The round constants and the initial state of FIPS 180-4, 4.2.2 and 5.3.3.
alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// A chain's eight words a to h, as the SHA instructions hold them: highest lane first.
struct Chain {
  __m128i abef, cdgh;
  __m128i words[4];  // the last 16 words of the message schedule
};

REPRISE_SHA void Start(Chain& chain) {
  chain.abef = _mm_set_epi32(0x6a09e667, static_cast<int>(0xbb67ae85), 0x510e527f, static_cast<int>(0x9b05688c));
  chain.cdgh = _mm_set_epi32(0x3c6ef372, static_cast<int>(0xa54ff53a), 0x1f83d9ab, 0x5be0cd19);
}

REPRISE_SHA void LoadWords(Chain& chain, const std::byte* block) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  for (int i = 0; i < 4; ++i) {
    chain.words[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i), big_endian);
  }
}

// Words 4i to 4i + 3 of the schedule, i >= 4, in the place of words 4(i - 4) to 4(i - 4) + 3.
REPRISE_SHA void NextWords(Chain& chain, int i) {
  const __m128i last = chain.words[(i + 3) % 4];
  const __m128i middle = _mm_alignr_epi8(last, chain.words[(i + 2) % 4], 4);
  const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(chain.words[i % 4], chain.words[(i + 1) % 4]), middle);
  chain.words[i % 4] = _mm_sha256msg2_epu32(sum, last);
}

REPRISE_SHA void FourRounds(Chain& chain, int i) {
  const __m128i constants = _mm_load_si128(reinterpret_cast<const __m128i*>(kRound) + i);
  const __m128i input = _mm_add_epi32(chain.words[i % 4], constants);
  chain.cdgh = _mm_sha256rnds2_epu32(chain.cdgh, chain.abef, input);
  chain.abef = _mm_sha256rnds2_epu32(chain.abef, chain.cdgh, _mm_shuffle_epi32(input, 0x0e));
}

// `blocks` blocks of each chain's input.
__attribute__((target("sha,sse4.1"))) void Absorb(Chain (&chains)[2], const std::byte* first, const std::byte* second,
                                                  size_t blocks) {
  Chain a = chains[0], b = chains[1];
  for (; blocks > 0; --blocks, first += kBlock, second += kBlock) {
    const __m128i abef[2] = {a.abef, b.abef}, cdgh[2] = {a.cdgh, b.cdgh};
    LoadWords(a, first);
    LoadWords(b, second);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      if (i >= 4) {
        NextWords(a, i);
        NextWords(b, i);
      }
      FourRounds(a, i);
      FourRounds(b, i);
    }
    a.abef = _mm_add_epi32(a.abef, abef[0]), a.cdgh = _mm_add_epi32(a.cdgh, cdgh[0]);
    b.abef = _mm_add_epi32(b.abef, abef[1]), b.cdgh = _mm_add_epi32(b.cdgh, cdgh[1]);
  }
  chains[0] = a, chains[1] = b;
}

Digest DigestOf(const Chain& chain) {
  alignas(16) uint32_t abef[4], cdgh[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(abef), chain.abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(cdgh), chain.cdgh);
  const uint32_t words[8] = {abef[3], abef[2], cdgh[3], cdgh[2], abef[1], abef[0], cdgh[1], cdgh[0]};
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::byte>(words[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

// The end of a message, padded: what is left of it, a one bit, zeros and the length in bits, big-endian (5.1.1).
struct Tail {
  alignas(16) std::byte bytes[2 * kBlock] = {};
  size_t blocks;

  explicit Tail(absl::Span<const std::byte> message) {
    const size_t rest = message.size() % kBlock;
    blocks = rest + 9 > kBlock ? 2 : 1;
    if (rest > 0) std::memcpy(bytes, message.data() + message.size() - rest, rest);
    bytes[rest] = std::byte{0x80};
    const uint64_t bits = uint64_t{message.size()} * 8;
    for (size_t i = 0; i < 8; ++i) bytes[blocks * kBlock - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  }
};

bool HasShaInstructions() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (ebx & bit_SHA) == 0) return false;
  return __builtin_cpu_supports("sse4.1") != 0;
}

__attribute__((target("sha,sse4.1"))) std::array<Digest, 2> PairByInstructions(absl::Span<const std::byte> first,
                                                                               absl::Span<const std::byte> second) {
  Chain chains[2];
  Start(chains[0]);
  Start(chains[1]);
  Absorb(chains, first.data(), second.data(), first.size() / kBlock);
  const Tail first_tail(first), second_tail(second);
  Absorb(chains, first_tail.bytes, second_tail.bytes, first_tail.blocks);
  return {DigestOf(chains[0]), DigestOf(chains[1])};
}

}  // namespace

std::array<Digest, 2> Sha256Pair(absl::Span<const std::byte> first, absl::Span<const std::byte> second) {
  CHECK_EQ(first.size(), second.size());
  static const bool kByInstructions = HasShaInstructions();
  if (kByInstructions) return PairByInstructions(first, second);
  return {Sha256(first), Sha256(second)};
}

}  // namespace reprise
