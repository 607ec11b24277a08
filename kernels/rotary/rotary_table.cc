#include "kernels/math/scalar_math.h"
#include "kernels/rotary/rotary.h"

namespace reprise::kernels {

RotaryTable MakeRotaryTable(int64_t positions, int64_t head_width, double theta) {
  const int64_t half = head_width / 2;
  std::vector<double> frequency(half);
  for (int64_t j = 0; j < half; ++j) {
    frequency[j] = Pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(head_width));
  }
  RotaryTable table{.head_width = head_width,
                    .cos = std::vector<float>(positions * half),
                    .sin = std::vector<float>(positions * half)};
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t j = 0; j < half; ++j) {
      const double angle = static_cast<double>(position) * frequency[j];
      table.cos[position * half + j] = static_cast<float>(Cos(angle));
      table.sin[position * half + j] = static_cast<float>(Sin(angle));
    }
  }
  return table;
}

}  // namespace reprise::kernels
