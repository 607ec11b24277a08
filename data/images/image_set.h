#ifndef DATA_IMAGES_IMAGE_SET_H_
#define DATA_IMAGES_IMAGE_SET_H_

// Labelled images of CIFAR-10's shape, as bytes, and what a network is given of them: normalised, in training cropped
// and mirrored at random.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/random/draw.h"

namespace reprise::data {

inline constexpr int64_t kImageChannels = 3, kImageSide = 32, kImageClasses = 10;

struct ImageSet {
  int64_t side = kImageSide;  // rows, and columns
  std::vector<uint8_t> pixel_NCHW = {};
  std::vector<uint8_t> label_N = {};  // each below kImageClasses

  size_t size() const { return label_N.size(); }
  size_t image_bytes() const { return static_cast<size_t>(kImageChannels * side * side); }
  absl::Span<const uint8_t> image(size_t n) const {
    return absl::MakeConstSpan(pixel_NCHW).subspan(n * image_bytes(), image_bytes());
  }

  bool operator==(const ImageSet&) const = default;
};

struct ImageSplits {
  ImageSet train, validation;
};

// A window of an image that was surrounded by kCropPadding black pixels, and whether it is mirrored from left to right.
struct Augmentation {
  int64_t top = 0, left = 0;  // from 0 to 2 kCropPadding; kCropPadding leaves the image as it is
  bool is_mirrored = false;

  bool operator==(const Augmentation&) const = default;
};

inline constexpr int64_t kCropPadding = 4;
inline constexpr Augmentation kNoAugmentation = {kCropPadding, kCropPadding, false};

// Returns a uniform window, mirrored with probability 1/2. Pure.
Augmentation AugmentationAt(uint64_t seed, Purpose purpose, const DrawAt& at);

// Writes image n as float, (value / 255 - mean) / std by channel, with CIFAR-10's statistics; the channel varies
// fastest.
void NormalizeImage(const ImageSet& images, size_t n, const Augmentation& augmentation,
                    absl::Span<float> normalized_HWC);

// Draws images that a small convolutional network can learn to classify, and a larger one better: two gratings with
// noise, in one of two pairs of colours. A class is an orientation of the coarse grating and one of the fine one,
// and which orientations these are depends on the colours; so no colour and no orientation tells it alone. Image n has
// the class n % 10. Pure.
ImageSet GeneratedImages(uint64_t seed, int64_t side, int64_t first, int64_t count);

}  // namespace reprise::data

#endif  // DATA_IMAGES_IMAGE_SET_H_
