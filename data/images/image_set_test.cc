#include "data/images/image_set.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::data {
namespace {

// One image whose pixel is 10 row + column, in each channel 1 more.
ImageSet Counted(int64_t side) {
  ImageSet images = {.side = side, .label_N = {3}};
  for (int64_t channel = 0; channel < kImageChannels; ++channel) {
    for (int64_t row = 0; row < side; ++row) {
      for (int64_t column = 0; column < side; ++column) {
        images.pixel_NCHW.push_back(static_cast<uint8_t>(10 * row + column + channel));
      }
    }
  }
  return images;
}

float Normal(double value, double mean, double std) { return static_cast<float>((value / 255 - mean) / std); }

std::vector<float> NormalizedWith(const ImageSet& images, const Augmentation& augmentation) {
  std::vector<float> pixels(images.image_bytes());
  NormalizeImage(images, 0, augmentation, absl::MakeSpan(pixels));
  return pixels;
}

TEST(NormalizeImageTest, UsesTheStatisticsOfEachChannelWhichVariesFastest) {
  const std::vector<float> pixels = NormalizedWith(Counted(8), kNoAugmentation);
  EXPECT_EQ(pixels[0], Normal(0, 0.4914, 0.2470));
  EXPECT_EQ(pixels[1], Normal(1, 0.4822, 0.2435));
  EXPECT_EQ(pixels[2], Normal(2, 0.4465, 0.2616));
  EXPECT_EQ(pixels[(2 * 8 + 5) * 3], Normal(25, 0.4914, 0.2470));
}

TEST(NormalizeImageTest, CutsAWindowOutOfBlackAndThenMirrorsIt) {
  const ImageSet images = Counted(8);
  const auto red = [&](const Augmentation& augmentation, int64_t row, int64_t column) {
    return NormalizedWith(images, augmentation)[(row * 8 + column) * 3];
  };
  const auto value = [](double pixel) { return Normal(pixel, 0.4914, 0.2470); };
  EXPECT_EQ(red({5, 4, false}, 0, 0), value(10)) << "a row down";
  EXPECT_EQ(red({4, 6, false}, 0, 0), value(2)) << "two columns to the right";
  EXPECT_EQ(red({0, 4, false}, 3, 0), value(0)) << "black";
  EXPECT_EQ(red({0, 4, false}, 4, 1), value(1));
  EXPECT_EQ(red({4, 4, true}, 0, 0), value(7));
  EXPECT_EQ(red({4, 5, true}, 0, 1), value(7)) << "the window begins a column later, and is seen from its end";
  EXPECT_EQ(red({4, 5, true}, 0, 0), value(0)) << "black";
}

TEST(AugmentationTest, IsAFunctionOfItsPlaceAndCoversAllWindows) {
  std::set<int64_t> tops, lefts;
  int mirrored = 0;
  for (uint64_t token = 0; token < 500; ++token) {
    const DrawAt at = {.step = 1, .token = token};
    const Augmentation drawn = AugmentationAt(7, Purpose::kTest, at);
    EXPECT_EQ(drawn, AugmentationAt(7, Purpose::kTest, at));
    tops.insert(drawn.top), lefts.insert(drawn.left);
    mirrored += drawn.is_mirrored ? 1 : 0;
  }
  EXPECT_EQ(tops.size(), 9u);
  EXPECT_EQ(*tops.rbegin(), 8);
  EXPECT_EQ(lefts.size(), 9u);
  EXPECT_NEAR(mirrored, 250, 60);
}

TEST(GeneratedImagesTest, DependOnSeedAndIndexAlone) {
  const ImageSet all = GeneratedImages(1, 16, 0, 12);
  const ImageSet part = GeneratedImages(1, 16, 10, 2);
  ASSERT_EQ(all.size(), 12u);
  EXPECT_EQ(part.image(0), all.image(10));
  EXPECT_EQ(part.label_N, (std::vector<uint8_t>{0, 1}));
  EXPECT_NE(GeneratedImages(2, 16, 10, 2), part);
  EXPECT_NE(all.image(0), all.image(10)) << "two images of a class";
}

// The sum of each channel over an image hardly depends on the class, so that a linear function of colours knows
// nothing.
TEST(GeneratedImagesTest, AClassHasNoColourOfItsOwn) {
  const ImageSet images = GeneratedImages(3, 32, 0, 400);
  double mean_of_class[kImageClasses][kImageChannels] = {};
  for (size_t n = 0; n < images.size(); ++n) {
    const size_t plane = images.image_bytes() / 3;
    for (size_t i = 0; i < images.image_bytes(); ++i) {
      mean_of_class[images.label_N[n]][i / plane] += images.image(n)[i] / static_cast<double>(plane * 40);
    }
  }
  for (const auto& mean_C : mean_of_class) {
    for (const double mean : mean_C) EXPECT_NEAR(mean, 128, 4);
  }
}

}  // namespace
}  // namespace reprise::data
