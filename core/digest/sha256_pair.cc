#include "core/digest/sha256_pair.h"

#include <cpuid.h>
#include <immintrin.h>

#include <cstdint>

#include "core/digest/sha256_message.h"
#include "core/status/check.h"

#define REPRISE_SHA __attribute__((target("sha,sse4.1"), always_inline)) inline

namespace reprise {
namespace {

using sha256::kBlock;
using sha256::kRound;
using sha256::Tail;

// A chain's eight words a to h, as the SHA instructions hold them: highest lane first.
struct Chain {
  __m128i abef, cdgh;
  __m128i words[4];  // the last 16 words of the message schedule
};

REPRISE_SHA void Start(Chain& chain) {
  const auto word = [](int i) { return static_cast<int>(sha256::kInitial[i]); };
  chain.abef = _mm_set_epi32(word(0), word(1), word(4), word(5));
  chain.cdgh = _mm_set_epi32(word(2), word(3), word(6), word(7));
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
