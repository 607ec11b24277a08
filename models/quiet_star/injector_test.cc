#include "models/quiet_star/injector.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "models/decoder/activations.h"
#include "models/quiet_star/memory.h"

namespace reprise::models {
namespace {

using Positions = std::vector<int64_t>;

TEST(InjectorTest, DifficultyIsTheWeightedSumOfItsTerms) {
  const std::vector<float> entropy = {std::log(16.0f), std::log(4.0f)}, dispersion = {0.5f, 1.0f},
                           error = {2.0f, 30.0f};
  const std::vector<double> all = DifficultiesOf({}, 16, {entropy, dispersion, error});
  EXPECT_NEAR(all[0], 0.4 * 1 + 0.3 * 0.5 + 0.3 * 0.2, 1e-6);
  EXPECT_NEAR(all[1], 0.4 * 0.5 + 0.3 * 1 + 0.3 * 1, 1e-6);
}

TEST(InjectorTest, WeightsOfMissingTermsAreDividedAmongTheOthers) {
  const std::vector<float> entropy = {std::log(16.0f)}, dispersion = {0.5f}, error = {2.0f};
  EXPECT_NEAR(DifficultiesOf({}, 16, {entropy, {}, {}})[0], 1.0, 1e-6);
  EXPECT_NEAR(DifficultiesOf({}, 16, {entropy, dispersion, {}})[0], (0.4 + 0.15) / 0.7, 1e-6);
  EXPECT_NEAR(DifficultiesOf({}, 16, {entropy, {}, error})[0], (0.4 + 0.06) / 0.7, 1e-6);
}

// The published prototype passes neither attention nor loss, keeps the weights and takes 0.5 for the dispersion: no
// difficulty is above 0.55, and with its threshold of 0.6 it never thinks.
TEST(InjectorTest, TheDefaultThresholdIsReachedWithoutAttentionAndLoss) {
  const std::vector<float> entropy(10, 0.9f * std::log(16.0f)), dispersion(10, 0.5f);
  EXPECT_EQ(ThinkingPositions({}, 16, {entropy, {}, {}}), (Positions{0, 3, 6, 9}));
  EXPECT_FALSE(ThinkingPositions({}, 16, {entropy, dispersion, {}}).empty());
  EXPECT_LT(0.4 * 1 + 0.3 * 0.5 + 0.3 * 0, InjectorOptions().threshold);
}

TEST(InjectorTest, ThinksAboveTheThresholdAtLeastAnIntervalApart) {
  // Difficulties of a vocabulary whose logarithm is 1 nat.
  const auto positions = [](std::vector<float> entropy, int64_t interval) {
    for (float& e : entropy) e *= std::log(8.0f);
    return ThinkingPositions({.threshold = 0.5, .interval = interval}, 8, {entropy, {}, {}});
  };
  const std::vector<float> entropy = {0.4f, 0.9f, 0.9f, 0.4f, 0.9f, 0.9f, 0.9f, 0.9f, 0.1f};
  EXPECT_EQ(positions(entropy, 3), (Positions{1, 4, 7}));
  EXPECT_EQ(positions(entropy, 1), (Positions{1, 2, 4, 5, 6, 7}));
  EXPECT_EQ(positions({0.9f, 0.9f}, 3), (Positions{0}));  // the first position may think
  EXPECT_EQ(positions(std::vector<float>(4, 0.4f), 3), Positions());
}

// The prototype keeps the last position from one pass to the next, and injects nothing after the first.
TEST(InjectorTest, EveryTextStartsAnew) {
  const std::vector<float> entropy(10, std::log(16.0f));
  const Positions first = ThinkingPositions({}, 16, {entropy, {}, {}});
  EXPECT_EQ(ThinkingPositions({}, 16, {entropy, {}, {}}), first);
  EXPECT_EQ(first.front(), 0);
}

TEST(ThoughtMemoryTest, GrowsWithThoughtsAndIsBoundedBySlotsAndRows) {
  const DecoderConfig config;
  const ThoughtSizes sizes = {4, 64, 64, 4, 12, 4};
  EXPECT_LT(ThoughtSamplingBytes(config, sizes, 64), ThoughtSamplingBytes(config, sizes, 0) / 8);
  EXPECT_EQ(ThoughtSamplingBytes(config, sizes, 0), ThoughtSamplingBytes(config, sizes, 4 * 64 * 4));
  const int64_t whole = ThoughtPassBytes(config, sizes, 0, false, false);
  const int64_t rows = 4 * (64 + 64 * 4 * (1 + 12 + 4));
  EXPECT_GE(whole, rows * Activations::FloatsPerRow(config, true) * 4);
  EXPECT_LT(ThoughtPassBytes(config, sizes, 512, false, false), whole / 10);
  EXPECT_LT(ThoughtPassBytes(config, sizes, 512, true, false), ThoughtPassBytes(config, sizes, 512, false, false));
  EXPECT_GT(ThoughtPassBytes(config, sizes, 512, true, true), ThoughtPassBytes(config, sizes, 512, true, false));
}

}  // namespace
}  // namespace reprise::models
