#include "core/digest/sha256_pair.h"

#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

std::vector<std::byte> Bytes(size_t size, uint32_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<std::byte>(seed >> 24);
  }
  return bytes;
}

void ExpectBothDigests(const std::vector<std::byte>& first, const std::vector<std::byte>& second) {
  const std::array<Digest, 2> pair = Sha256Pair(first, second);
  ASSERT_EQ(ToHex(pair[0]), ToHex(Sha256(first))) << first.size() << " bytes";
  ASSERT_EQ(ToHex(pair[1]), ToHex(Sha256(second))) << second.size() << " bytes";
}

TEST(Sha256PairTest, AgreesWithOneDigestAfterTheOtherForEverySizeAroundTheBlocks) {
  for (size_t size = 0; size < 260; ++size) ExpectBothDigests(Bytes(size, 1), Bytes(size, 2));
}

RC_GTEST_PROP(Sha256PairTest, AgreesForAnySizeAndPlace, ()) {
  const size_t size = *rc::gen::inRange<size_t>(0, 100000), shift = *rc::gen::inRange<size_t>(0, 16);
  const std::vector<std::byte> bytes = Bytes(2 * size + shift, *rc::gen::arbitrary<uint32_t>());
  const auto all = absl::MakeConstSpan(bytes);
  const auto pair = Sha256Pair(all.subspan(shift, size), all.subspan(shift + size, size));
  RC_ASSERT(pair[0] == Sha256(all.subspan(shift, size)));
  RC_ASSERT(pair[1] == Sha256(all.subspan(shift + size, size)));
}

TEST(Sha256PairDeathTest, RefusesArraysOfUnequalSize) {
  EXPECT_DEATH(Sha256Pair(Bytes(3, 1), Bytes(4, 1)), "sha256_pair");
}

}  // namespace
}  // namespace reprise
