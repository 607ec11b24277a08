#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_ALPHA_SCHEDULE_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_ALPHA_SCHEDULE_H_

// The share of a blending seed in its slot's output.

namespace reprise::models {

struct AlphaSchedule {
  int total_steps = 1;  // at least 1
  double start = 0, end = 1;
  double temperature = 1;  // at least 1e-6

  static AlphaSchedule Of(int total_steps, double temperature);

  // start at step <= 0, end at step >= total_steps, between them
  //   start + (end - start) (1 + tanh((step - total_steps / 2) / (2 temperature))) / 2.
  double At(int step) const;
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_ALPHA_SCHEDULE_H_
