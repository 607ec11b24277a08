#include "models/heads/initial_weights.h"

#include <array>
#include <vector>

#include "core/random/draw.h"
#include "kernels/contract/operands.h"
#include "kernels/math/scalar_math.h"
#include "kernels/optimizer/gram_schmidt.h"

namespace reprise::models {
namespace {

double StandardNormal(uint64_t seed, int spec, int64_t element) {
  const DrawAt at = {.step = static_cast<uint64_t>(spec), .token = static_cast<uint64_t>(element)};
  const std::array<uint32_t, 4> bits = DrawBits(seed, Purpose::kInitialWeights, at);
  return kernels::NormalDeviate(bits[0] * 0x1p-32, bits[1] * 0x1p-32);
}

}  // namespace

void DrawInitialWeights(uint64_t seed, InitialWeights kind, double gain, const WeightPlace& place,
                        absl::Span<float> parameters) {
  float* const weights = parameters.data() + place.offset;
  if (kind == InitialWeights::kNormal) {
    const double deviation = gain / kernels::Sqrt(static_cast<double>(place.inputs));
    for (int64_t i = 0; i < place.outputs * place.inputs; ++i) {
      weights[i] = static_cast<float>(deviation * StandardNormal(seed, place.spec, i));
    }
    return;
  }
  // The shorter side's vectors, as rows: those of the matrix, or of its transpose.
  const bool is_wide = place.outputs <= place.inputs;
  const int64_t count = is_wide ? place.outputs : place.inputs, n = is_wide ? place.inputs : place.outputs;
  std::vector<double> elements(static_cast<size_t>(count * n));
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = StandardNormal(seed, place.spec, static_cast<int64_t>(i));
  }
  const kernels::RowView<double> vectors = {elements.data(), count, n};
  kernels::GramSchmidt(vectors);
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t i = 0; i < n; ++i) {
      weights[is_wide ? r * n + i : i * count + r] = static_cast<float>(gain * vectors[r][i]);
    }
  }
}

}  // namespace reprise::models
