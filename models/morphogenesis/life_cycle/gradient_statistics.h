#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_GRADIENT_STATISTICS_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_GRADIENT_STATISTICS_H_

// What a seed's gradients say about its health, and how strong they are beside those of its host. Pure; sums in double
// and in a fixed order (kernels/sums).

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace reprise::models {

// The gradients of the parameters that have one: a span of elements per tensor.
using GradientSpans = std::vector<absl::Span<const float>>;

struct GradientLimits {
  double vanishing = 1e-7;  // a tensor's L2 norm below this vanishes
  double exploding = 100;   // above this explodes
};

struct GradientStatistics {
  double gradient_norm = 0;  // sqrt(sum of n_i^2) / m over m tensors with L2 norms n_i: the definition of the features
  double true_norm = 0;      // sqrt(sum of n_i^2)
  double gradient_health = 1;
  bool has_vanishing = false, has_exploding = false;
  // The rest describes all tensors in more detail.
  double min_layer_norm = 0, max_layer_norm = 0;
  double norm_ratio = 1;  // max / max(min, 1e-10)
  double zero_fraction = 0;
  int64_t nan_count = 0, inf_count = 0;
  bool is_healthy = true;  // no NaN, no infinity, norm_ratio < 1000, zero_fraction < 0.5, none explodes
};

// From norms alone: health = clamp(1 - 0.5 (share that vanishes) - 0.8 (share that explodes), 0, 1), and 0 if a norm is
// not finite. No tensors: norm 0 and health 1. The fields that count elements stay 0.
GradientStatistics StatisticsOfNorms(absl::Span<const double> norms, const GradientLimits& limits = {});

GradientStatistics CollectGradientStatistics(const GradientSpans& gradients, const GradientLimits& limits = {});

// The L2 norm over several tensors, and their elements.
struct GradientTotal {
  double norm = 0;
  int64_t elements = 0;
};

double GradientNorm(absl::Span<const float> gradient);
GradientTotal TotalOf(const GradientSpans& gradients);

// (|g_s| / sqrt(n_s)) / (|g_h| / sqrt(n_h) + 1e-8): the seed's root mean square over that of the host. 0 if a norm is
// below 1e-8 or not finite, or a count is 0.
double SeedGradientRatio(const GradientTotal& host, const GradientTotal& seed);

// 0.9 old + 0.1 value; the first value if there is no old one.
double ExponentialAverage(std::optional<double> old, double value);

// Watches that a seed in training passes no gradient to its host through its input. The host's own gradients are no
// violation.
class GradientIsolationMonitor {
 public:
  explicit GradientIsolationMonitor(double threshold = 1e-6, int violations = 0)
      : threshold_(threshold), violations_(violations) {}

  // `through_input` is the norm of the loss's gradient by the host's activations that passed through the seed. Returns
  // whether the host was isolated: the norm is below the threshold.
  bool Record(double through_input);

  int violations() const { return violations_; }

 private:
  double threshold_;
  int violations_;
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_GRADIENT_STATISTICS_H_
