#include "core/random/draw.h"

#include <map>
#include <set>
#include <vector>

#include "Random123/philox.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using Bits = std::array<uint32_t, 4>;

// The known-answer vectors that Random123 publishes for philox4x32-10.
TEST(PhiloxTest, GivesThePublishedVectors) {
  const auto philox = [](r123::Philox4x32::ctr_type counter, r123::Philox4x32::key_type key) {
    const auto bits = r123::Philox4x32()(counter, key);
    return Bits{bits[0], bits[1], bits[2], bits[3]};
  };
  EXPECT_EQ(philox({{0, 0, 0, 0}}, {{0, 0}}), (Bits{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({{~0u, ~0u, ~0u, ~0u}}, {{~0u, ~0u}}), (Bits{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}}),
            (Bits{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(DrawTest, PutsEveryCoordinateIntoItsOwnBitsOfTheCounter) {
  const auto philox = [](uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    const auto bits = r123::Philox4x32()({{a, b, c, d}}, {{0x89abcdef, 0x01234567}});
    return Bits{bits[0], bits[1], bits[2], bits[3]};
  };
  const DrawAt at = {.step = 7, .prompt = 5, .sample = 3, .turn = 2, .token = 11};
  EXPECT_EQ(DrawBits(0x0123456789abcdef, Purpose::kSampling, at), philox(11, 7, 5 << 8 | 3, 2 << 16 | 3));
}

TEST(DrawTest, DiffersWhenAnyCoordinateDiffers) {
  std::set<Bits> seen;
  const DrawAt at = {1, 1, 1, 1, 1};
  seen.insert(DrawBits(1, Purpose::kTest, at));
  seen.insert(DrawBits(2, Purpose::kTest, at));
  seen.insert(DrawBits(uint64_t{1} << 32 | 1, Purpose::kTest, at));
  seen.insert(DrawBits(1, Purpose::kTask, at));
  for (DrawAt other : {DrawAt{2, 1, 1, 1, 1}, {1, 2, 1, 1, 1}, {1, 1, 2, 1, 1}, {1, 1, 1, 2, 1}, {1, 1, 1, 1, 2}}) {
    seen.insert(DrawBits(1, Purpose::kTest, other));
  }
  EXPECT_EQ(seen.size(), 9u);
}

TEST(DrawUniformTest, FillsTheUnitIntervalEvenly) {
  constexpr int kDraws = 20000, kBins = 20;
  std::vector<int> bins(kBins);
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double u = DrawUniform(42, Purpose::kTest, {.token = i});
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins[u * kBins];
  }
  // Each bin is binomial with mean 1000 and standard deviation 31; the seed is fixed.
  for (int count : bins) EXPECT_NEAR(count, 1000, 130);
}

TEST(DrawBelowTest, ReachesEveryValueAndNoOther) {
  std::map<uint64_t, int> counts;
  for (uint64_t i = 0; i < 7000; ++i) ++counts[DrawBelow(42, Purpose::kTest, {.token = i}, 7)];
  ASSERT_EQ(counts.size(), 7u);
  EXPECT_EQ(counts.rbegin()->first, 6u);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 1000, 130) << value;
  EXPECT_EQ(DrawBelow(42, Purpose::kTest, {}, 1), 0u);
}

TEST(DrawDeathTest, RefusesCoordinatesThatWouldOverlap) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(DrawBits(1, Purpose::kTest, {.prompt = 1 << 24}), "CHECK failed");
}

}  // namespace
}  // namespace reprise
