#include "core/random/draw.h"

#include "Random123/philox.h"
#include "core/status/check.h"

namespace reprise {

// Counter words: { token, step, prompt (24 bits) | purpose (8), turn (16) | sample (16) }. Every coordinate has its own
// bits, so distinct coordinates are distinct counters.
std::array<uint32_t, 4> DrawBits(uint64_t seed, Purpose purpose, const DrawAt& at) {
  CHECK(at.step < (uint64_t{1} << 32) && at.token < (uint64_t{1} << 32));
  CHECK(at.prompt < (1u << 24) && at.sample < (1u << 16) && at.turn < (1u << 16));
  const r123::Philox4x32::ctr_type counter = {{
      static_cast<uint32_t>(at.token),
      static_cast<uint32_t>(at.step),
      static_cast<uint32_t>(at.prompt << 8) | static_cast<uint32_t>(purpose),
      static_cast<uint32_t>(at.turn << 16) | static_cast<uint32_t>(at.sample),
  }};
  const r123::Philox4x32::key_type key = {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}};
  const r123::Philox4x32::ctr_type bits = r123::Philox4x32()(counter, key);
  return {bits[0], bits[1], bits[2], bits[3]};
}

namespace {
uint64_t First64(const std::array<uint32_t, 4>& bits) { return uint64_t{bits[1]} << 32 | bits[0]; }
}  // namespace

double DrawUniform(uint64_t seed, Purpose purpose, const DrawAt& at) {
  return static_cast<double>(First64(DrawBits(seed, purpose, at)) >> 11) * 0x1p-53;
}

uint64_t DrawBelow(uint64_t seed, Purpose purpose, const DrawAt& at, uint64_t bound) {
  CHECK_GE(bound, 1u);
  const uint64_t bits = First64(DrawBits(seed, purpose, at));
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(Wide{bits} * bound >> 64);
}

}  // namespace reprise
