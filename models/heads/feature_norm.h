#ifndef MODELS_HEADS_FEATURE_NORM_H_
#define MODELS_HEADS_FEATURE_NORM_H_

// Normalises features by running statistics of those of earlier steps:
//
//   y = clip((x - mean) / sqrt(variance + 1e-4), -10, 10).
//
// The statistics are tensors among the parameters, of a kind that optimizers leave alone, so that they are stored,
// digested, copied and resumed with the weights. They have no gradient. Between two updates they are constants: what is
// learned from an episode sees the features as the policy saw them.

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "kernels/contract/operands.h"
#include "kernels/sums/moments.h"

namespace reprise::models {

class FeatureNorm {
 public:
  static constexpr double kDecay = 0.99, kEpsilon = 1e-4;
  static constexpr float kClip = 10;

  // Appends NAME.mean and NAME.variance [features] to `layout`.
  FeatureNorm(int64_t features, absl::string_view name, FlatLayout* layout);

  // The functions below take arrays of the whole layout, and read or write only the statistics.

  // Sets means of 0 and variances of 1.
  void Initialize(absl::Span<float> parameters) const;

  // Must be called before Apply, and after every change of the parameters.
  void Refresh(absl::Span<const float> parameters);

  // y [rows, features]; it may be x. Elementwise in float; x must be finite. Thread-safe.
  void Apply(const kernels::ConstRows& x, const kernels::Rows& y) const;

  // Returns the statistics of the rows, one for each feature.
  static std::vector<kernels::Moments> Observe(const kernels::ConstRows& x);

  // Moves the statistics by 1 - kDecay towards those of a step's rows, of which there is at least one (checked): they
  // become those of the mixture of both,
  //   mean' = d mean + (1 - d) m,   variance' = d variance + (1 - d) v + d (1 - d) (m - mean)^2,
  // with v the step's variance (divided by the count), in double, rounded to float. Refresh must follow.
  void Move(const std::vector<kernels::Moments>& step_F, absl::Span<float> parameters) const;

 private:
  const size_t features_;
  int64_t mean_offset_ = 0, variance_offset_ = 0;
  std::vector<float> mean_F_, inverse_F_;  // of the last Refresh
};

}  // namespace reprise::models

#endif  // MODELS_HEADS_FEATURE_NORM_H_
