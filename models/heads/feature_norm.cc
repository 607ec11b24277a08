#include "models/heads/feature_norm.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "kernels/math/scalar_math.h"

namespace reprise::models {

FeatureNorm::FeatureNorm(int64_t features, absl::string_view name, FlatLayout* layout)
    : features_(static_cast<size_t>(features)), mean_F_(features_), inverse_F_(features_) {
  const auto append = [&](absl::string_view of) {
    const int spec = layout->Append(absl::StrCat(name, of), {features}, ParameterKind::kStatistic);
    return layout->specs[spec].offset;
  };
  mean_offset_ = append(".mean");
  variance_offset_ = append(".variance");
}

void FeatureNorm::Initialize(absl::Span<float> parameters) const {
  std::fill_n(parameters.data() + mean_offset_, features_, 0.0f);
  std::fill_n(parameters.data() + variance_offset_, features_, 1.0f);
}

void FeatureNorm::Refresh(absl::Span<const float> parameters) {
  std::copy_n(parameters.data() + mean_offset_, features_, mean_F_.data());
  for (size_t f = 0; f < features_; ++f) {
    const double variance = static_cast<double>(parameters[static_cast<size_t>(variance_offset_) + f]);
    inverse_F_[f] = static_cast<float>(1.0 / kernels::Sqrt(variance + kEpsilon));
  }
}

void FeatureNorm::Apply(const kernels::ConstRows& x, const kernels::Rows& y) const {
  for (int64_t r = 0; r < x.rows; ++r) {
    for (size_t f = 0; f < features_; ++f) {
      y[r][f] = std::clamp((x[r][f] - mean_F_[f]) * inverse_F_[f], -kClip, kClip);
    }
  }
}

std::vector<kernels::Moments> FeatureNorm::Observe(const kernels::ConstRows& x) {
  std::vector<kernels::Moments> moments_F;
  std::vector<double> column(static_cast<size_t>(x.rows));
  for (int64_t f = 0; f < x.width; ++f) {
    for (int64_t r = 0; r < x.rows; ++r) column[r] = static_cast<double>(x[r][f]);
    moments_F.push_back(kernels::MomentsOf(column));
  }
  return moments_F;
}

void FeatureNorm::Move(const std::vector<kernels::Moments>& step_F, absl::Span<float> parameters) const {
  CHECK_EQ(step_F.size(), features_);
  for (size_t f = 0; f < features_; ++f) {
    const kernels::Moments& step = step_F[f];
    CHECK_GT(step.count, 0);
    float& mean = parameters[static_cast<size_t>(mean_offset_) + f];
    float& variance = parameters[static_cast<size_t>(variance_offset_) + f];
    const double before = static_cast<double>(mean), distance = step.mean - before;
    mean = static_cast<float>(kDecay * before + (1 - kDecay) * step.mean);
    variance = static_cast<float>(kDecay * static_cast<double>(variance) + (1 - kDecay) * step.Variance(0) +
                                  kDecay * (1 - kDecay) * (distance * distance));
  }
}

}  // namespace reprise::models
