#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_SLOT_OPTIONS_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_SLOT_OPTIONS_H_

#include <algorithm>
#include <cstdint>

#include "models/morphogenesis/life_cycle/gates.h"
#include "models/morphogenesis/life_cycle/host_task.h"

namespace reprise::models {

// Whether the host's activations that are mixed with a blending seed's output pass on their gradient. As they are
// mixed, h' in (1 - alpha) h' + alpha seed(h).
enum class BlendGradient : uint8_t {
  kThroughHost = 0,  // yes: layers before the slot keep their whole gradient
  kDetached = 1,     // no: they only get the seed's part, alpha times the gradient through the seed
};

struct SlotOptions {
  GateThresholds thresholds;
  BlendGradient blend_gradient = BlendGradient::kThroughHost;
  bool isolate_training = true;  // no gradient passes from a seed in TRAINING to the host through the seed's input
  double blend_temperature = 1;
  int blending_steps = 5;
  int min_training_epochs = 1, min_shadowing_epochs = 1;
  int embargo_epochs = 5;  // after a cull, during which nothing germinates; 0: none

  // Takes the task's durations: max(1, floor(fraction * max_epochs)).
  void SetDurations(const HostTask& task) {
    const auto epochs = [&task](double fraction) {
      return std::max(1, static_cast<int>(static_cast<double>(task.max_epochs) * fraction));
    };
    blending_steps = task.blending_steps;
    min_training_epochs = epochs(task.train_to_blend_fraction);
    min_shadowing_epochs = epochs(task.shadowing_fraction);
  }
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_SLOT_OPTIONS_H_
