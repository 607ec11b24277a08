#ifndef MODELS_MORPHOGENESIS_SMALL_EXAMPLES_H_
#define MODELS_MORPHOGENESIS_SMALL_EXAMPLES_H_

// Small tasks on which a host improves in seconds, for tests.

#include <cstdint>
#include <vector>

#include "core/random/draw.h"
#include "models/morphogenesis/host_session.h"

namespace reprise::models::testing {

// A host for images of 16 x 16 pixels of 4 classes.
inline HostTask SmallImageTask() {
  HostTask task = *FindHostTask("cifar10");
  task.shape.cnn = {.num_classes = 4, .num_blocks = 3, .base_channels = 4, .image_size = 16, .image_channels = 3};
  task.batch_size = 16;
  return task;
}

inline HostTask SmallTokenTask() {
  HostTask task = *FindHostTask("tinystories");
  task.shape.transformer = {
      .vocab_size = 13, .width = 16, .num_heads = 2, .num_layers = 2, .block_size = 12, .dropout = 0.1};
  task.max_epochs = 25;
  return task;
}

// Images whose class is the pair of a stripe's direction and a tint, with noise; or sequences that count upwards with
// noise. In batches.
class SmallExamples {
 public:
  SmallExamples(const HostTask& task, uint64_t salt, int64_t batches, int64_t batch_size) {
    const bool images = task.shape.topology == Topology::kCnn;
    for (int64_t i = 0; i < batches * batch_size; ++i) images ? AddImage(salt, i) : AddSequence(salt, i);
    const size_t size = static_cast<size_t>(batch_size);
    for (size_t b = 0; b < static_cast<size_t>(batches); ++b) {
      HostBatch batch;
      batch.size = batch_size;
      const size_t targets = size * (images ? 1 : kLength);
      if (images) batch.images_BHWC = absl::MakeConstSpan(pixels_).subspan(b * size * kPixels, size * kPixels);
      if (!images) batch.tokens_BT = absl::MakeConstSpan(tokens_).subspan(b * targets, targets);
      batch.targets = absl::MakeConstSpan(targets_).subspan(b * targets, targets);
      batches_.push_back(batch);
    }
  }
  SmallExamples(const SmallExamples&) = delete;
  SmallExamples& operator=(const SmallExamples&) = delete;

  const std::vector<HostBatch>& batches() const { return batches_; }

 private:
  static constexpr size_t kPixels = 16 * 16 * 3, kLength = 12;

  static double Uniform(uint64_t salt, int64_t example, int64_t index) {
    return DrawUniform(salt, Purpose::kTest,
                       {.step = static_cast<uint64_t>(example), .token = static_cast<uint64_t>(index)});
  }

  void AddImage(uint64_t salt, int64_t i) {
    const int32_t label = static_cast<int32_t>(i % 4);
    targets_.push_back(label);
    const int phase = static_cast<int>(Uniform(salt, i, 1 << 20) * 4);
    for (int p = 0; p < static_cast<int>(kPixels); ++p) {
      const int y = p / 48, x = p / 3 % 16, channel = p % 3;
      const int along = label % 2 == 0 ? y : x;
      const double stripe = (along + phase) % 4 < 2 ? 0.7 : -0.7;
      const double tint = channel == label / 2 ? 0.4 : 0;
      pixels_.push_back(static_cast<float>(stripe + tint + 6 * (Uniform(salt, i, p) - 0.5)));
    }
  }

  void AddSequence(uint64_t salt, int64_t i) {
    int32_t token = static_cast<int32_t>(Uniform(salt, i, 0) * 13);
    for (size_t t = 0; t < kLength; ++t) {
      tokens_.push_back(token);
      const double u = Uniform(salt, i, static_cast<int64_t>(t) + 1);
      token = u < 0.8 ? (token + 1) % 13 : static_cast<int32_t>((u - 0.8) * 5 * 13);
      targets_.push_back(token);
    }
  }

  std::vector<float> pixels_;
  std::vector<int32_t> tokens_, targets_;
  std::vector<HostBatch> batches_;
};

}  // namespace reprise::models::testing

#endif  // MODELS_MORPHOGENESIS_SMALL_EXAMPLES_H_
