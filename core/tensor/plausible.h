#ifndef CORE_TENSOR_PLAUSIBLE_H_
#define CORE_TENSOR_PLAUSIBLE_H_

// Which numbers a training step can be made of. What is not finite would poison the weights; what is greater than any
// weight, activation, reward, log-probability, advantage or value, or a subnormal number where only sums, products,
// differences and logarithms of ordinary ones can stand, was not computed but is damage: of memory, or of the program.

#include <cmath>

namespace reprise {

inline constexpr double kMostPlausible = 1e18;

template <typename T>
bool IsPlausible(T value) {
  return std::isfinite(value) && std::fpclassify(value) != FP_SUBNORMAL &&
         std::fabs(static_cast<double>(value)) <= kMostPlausible;
}

}  // namespace reprise

#endif  // CORE_TENSOR_PLAUSIBLE_H_
