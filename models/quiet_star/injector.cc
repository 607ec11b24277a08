#include "models/quiet_star/injector.h"

#include <algorithm>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"

namespace reprise::models {
namespace {

constexpr double kMostError = 10;  // nats

}  // namespace

std::vector<double> DifficultiesOf(const InjectorOptions& options, int64_t vocabulary, const DifficultyTerms& terms) {
  const size_t count = terms.entropy_S.size();
  CHECK(terms.dispersion_S.empty() || terms.dispersion_S.size() == count);
  CHECK(terms.error_S.empty() || terms.error_S.size() == count);
  const double most_entropy = kernels::Log(static_cast<double>(vocabulary));
  double weights = options.entropy_weight;
  if (!terms.dispersion_S.empty()) weights += options.dispersion_weight;
  if (!terms.error_S.empty()) weights += options.error_weight;
  std::vector<double> difficulty_S(count);
  for (size_t s = 0; s < count; ++s) {
    double sum = options.entropy_weight * (static_cast<double>(terms.entropy_S[s]) / most_entropy);
    if (!terms.dispersion_S.empty()) sum += options.dispersion_weight * static_cast<double>(terms.dispersion_S[s]);
    if (!terms.error_S.empty()) {
      sum += options.error_weight * (std::min(static_cast<double>(terms.error_S[s]), kMostError) / kMostError);
    }
    difficulty_S[s] = sum / weights;
  }
  return difficulty_S;
}

std::vector<int64_t> ThinkingPositions(const InjectorOptions& options, int64_t vocabulary,
                                       const DifficultyTerms& terms) {
  const std::vector<double> difficulty_S = DifficultiesOf(options, vocabulary, terms);
  std::vector<int64_t> positions;
  int64_t last = -options.interval;
  for (int64_t s = 0; s < static_cast<int64_t>(difficulty_S.size()); ++s) {
    if (s - last < options.interval || difficulty_S[s] <= options.threshold) continue;
    positions.push_back(s);
    last = s;
  }
  return positions;
}

}  // namespace reprise::models
