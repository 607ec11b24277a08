#include "models/morphogenesis/life_cycle/alpha_schedule.h"

#include <algorithm>

#include "kernels/math/scalar_math.h"

namespace reprise::models {

AlphaSchedule AlphaSchedule::Of(int total_steps, double temperature) {
  return {.total_steps = std::max(1, total_steps), .temperature = std::max(temperature, 1e-6)};
}

double AlphaSchedule::At(int step) const {
  if (step <= 0) return start;
  if (step >= total_steps) return end;
  // (1 + tanh(x / 2)) / 2 is the logistic function of x.
  const double x = (step - total_steps / 2.0) / temperature;
  return start + (end - start) / (1.0 + kernels::Exp(-x));
}

}  // namespace reprise::models
