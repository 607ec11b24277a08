#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_HOST_TASK_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_HOST_TASK_H_

// What a host is trained for, without its data.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/morphogenesis/life_cycle/topology.h"

namespace reprise::models {

struct HostTask {
  std::string name;
  HostShape shape;
  int64_t batch_size = 0;
  int max_epochs = 0;
  int64_t max_steps = 0;
  double baseline_loss = 0, target_loss = 0, loss_delta_std = 0;  // of the reward by losses
  double train_to_blend_fraction = 0.1;  // of max_epochs: the least number of epochs in TRAINING, at least 1
  double shadowing_fraction = 0.1;       // in SHADOWING
  int blending_steps = 5;
};

// "cifar10" or "tinystories", in any case. NotFound: "Unknown task 'x'. Available: cifar10, tinystories".
absl::StatusOr<HostTask> FindHostTask(absl::string_view name);

// Normalisation of cifar10's images, whose pixels are in [0, 1], by channel.
inline constexpr float kCifarMean[3] = {0.4914f, 0.4822f, 0.4465f};
inline constexpr float kCifarDeviation[3] = {0.2470f, 0.2435f, 0.2616f};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_HOST_TASK_H_
