#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_TRAINING_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_TRAINING_H_

// What goes into the training of a host, and what comes out of it.

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "models/morphogenesis/life_cycle/gradient_statistics.h"

namespace reprise::models {

// Where an episode's draws are: the run's seed and the first coordinates of its draws (core/random/draw.h has their
// ranges).
struct EpisodeCoordinates {
  uint64_t seed = 0;
  uint64_t step = 0, prompt = 0, sample = 0;
};

// Stochastic gradient descent as torch.optim.SGD: g += weight_decay p; v = momentum v + g, from 0; p -= learning_rate
// v.
struct SgdOptions {
  double learning_rate = 0.01, momentum = 0.9, weight_decay = 0;
};

// A batch of examples: views, which must outlive the call. Sizes and ranges are checked.
struct HostBatch {
  int64_t size = 0;                          // B
  absl::Span<const float> images_BHWC = {};  // CNN: pixels, the channel varies fastest
  absl::Span<const int32_t> tokens_BT = {};  // transformer; T may differ between batches
  absl::Span<const int32_t> targets = {};    // CNN: a class for each image; transformer: [B, T], the token to predict
};

struct EpochTraining {
  double loss_sum = 0;  // of the batches' mean losses
  double correct = 0;   // images, or tokens
  int64_t total = 0, batches = 0;
  std::optional<GradientStatistics> gradients;  // of the seed, on the last batch; none without a learning seed
  double host_gradient_norm = 0;                // true L2 norm on the last batch
  double seed_gradient_ratio = 0;               // SeedGradientRatio on the last batch; 0 without a learning seed

  double MeanLoss() const { return batches == 0 ? 0.0 : loss_sum / static_cast<double>(batches); }
  double Accuracy() const { return total == 0 ? 0.0 : 100.0 * correct / static_cast<double>(total); }  // percent
};

struct HostEvaluation {
  double mean_loss = 0;  // of the batches' mean losses
  double accuracy = 0;   // percent
  double correct = 0;
  int64_t total = 0, batches = 0;
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_TRAINING_H_
