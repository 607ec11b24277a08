#include "models/lora/dropout.h"

#include <algorithm>
#include <array>

namespace reprise::models {
namespace {

constexpr uint32_t kSteps = 1u << 16;  // probabilities are multiples of 1 / kSteps
constexpr int64_t kElementsOfDraw = 8;

}  // namespace

uint64_t DropoutSeedOf(const DropoutPlace& place, int64_t position) {
  const uint64_t kind = (place.in_sft ? 2u : 0u) + (place.in_prompt ? 0u : 1u);
  const std::array<uint32_t, 4> bits = DrawBits(place.seed, Purpose::kAdapterDropout,
                                                {.step = place.step,
                                                 .prompt = place.prompt,
                                                 .sample = place.sample,
                                                 .turn = kind,
                                                 .token = static_cast<uint64_t>(position)});
  return static_cast<uint64_t>(bits[1]) << 32 | bits[0];
}

Dropout Dropout::Of(double probability, uint64_t adapter) {
  const uint32_t threshold = static_cast<uint32_t>(probability * kSteps + 0.5);
  const double kept = static_cast<double>(kSteps - threshold) / kSteps;
  return {threshold, static_cast<float>(1.0 / kept), adapter};
}

void ApplyDropout(const Dropout& dropout, const RowSeeds& seeds, const kernels::ConstRows& x, const kernels::Rows& y) {
  for (int64_t row = 0; row < x.rows; ++row) {
    const uint64_t seed = seeds.Of(row);
    for (int64_t begin = 0; begin < x.width; begin += kElementsOfDraw) {
      const std::array<uint32_t, 4> bits =
          DrawBits(seed, Purpose::kAdapterDropout,
                   {.step = dropout.adapter, .token = static_cast<uint64_t>(begin / kElementsOfDraw)});
      const int64_t end = std::min(begin + kElementsOfDraw, x.width);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t k = i - begin;
        const uint32_t drawn = bits[k / 2] >> (16 * (k % 2)) & (kSteps - 1);
        y[row][i] = drawn < dropout.threshold ? 0.0f : dropout.scale * x[row][i];
      }
    }
  }
}

}  // namespace reprise::models
