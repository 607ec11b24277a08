#include "kernels/images/segment_norm.h"

#include <cmath>
#include <vector>

namespace reprise::kernels {
namespace {

// One double for each channel; sums of groups are put into all of a group's channels.
using Columns = std::vector<double>;

void DivideGroups(const NormShape& shape, Columns* sums) {
  const int64_t width = shape.channels / shape.groups;
  const double n = static_cast<double>(shape.rows * width);
  for (int64_t g = 0; g < shape.groups; ++g) {
    double* const of_group = sums->data() + g * width;
    double sum = 0;
    for (int64_t j = 0; j < width; ++j) sum += of_group[j];
    for (int64_t j = 0; j < width; ++j) of_group[j] = sum / n;
  }
}

Columns Means(const NormShape& shape, const float* x) {
  const int64_t c = shape.channels;
  Columns sums(static_cast<size_t>(c));
  double* const sum = sums.data();
  for (int64_t r = 0; r < shape.rows; ++r, x += c) {
    for (int64_t j = 0; j < c; ++j) sum[j] += static_cast<double>(x[j]);
  }
  DivideGroups(shape, &sums);
  return sums;
}

Columns Variances(const NormShape& shape, const float* x, const Columns& means) {
  const int64_t c = shape.channels;
  Columns sums(static_cast<size_t>(c));
  double* const sum = sums.data();
  const double* const mean = means.data();
  for (int64_t r = 0; r < shape.rows; ++r, x += c) {
    for (int64_t j = 0; j < c; ++j) {
      const double d = static_cast<double>(x[j]) - mean[j];
      sum[j] += d * d;
    }
  }
  DivideGroups(shape, &sums);
  return sums;
}

std::vector<float> Rounded(const Columns& columns) { return {columns.begin(), columns.end()}; }

std::vector<float> Inverses(const Columns& variances, double eps) {
  std::vector<float> result;
  for (const double variance : variances) result.push_back(static_cast<float>(1.0 / std::sqrt(variance + eps)));
  return result;
}

// The first channel of each group.
void StoreByGroup(const NormShape& shape, const std::vector<float>& columns, float* groups) {
  const int64_t width = shape.channels / shape.groups;
  for (int64_t g = 0; g < shape.groups; ++g) groups[g] = columns[g * width];
}

std::vector<float> LoadByGroup(const NormShape& shape, const float* groups) {
  const int64_t width = shape.channels / shape.groups;
  std::vector<float> columns;
  for (int64_t j = 0; j < shape.channels; ++j) columns.push_back(groups[j / width]);
  return columns;
}

void Normalise(const NormShape& shape, const float* x, const float* mean, const float* inverse, float* normal) {
  const int64_t c = shape.channels;
  for (int64_t r = 0; r < shape.rows; ++r, x += c, normal += c) {
    for (int64_t j = 0; j < c; ++j) normal[j] = (x[j] - mean[j]) * inverse[j];
  }
}

void Scale(const NormShape& shape, const float* normal, const float* gain, const float* bias, float* y) {
  const int64_t c = shape.channels;
  for (int64_t r = 0; r < shape.rows; ++r, normal += c, y += c) {
    for (int64_t j = 0; j < c; ++j) y[j] = normal[j] * gain[j] + bias[j];
  }
}

struct BackwardSums {
  Columns dy, dy_normal;
};

BackwardSums SumsOf(const NormShape& shape, const float* dy, const float* normal) {
  const int64_t c = shape.channels;
  BackwardSums sums = {Columns(static_cast<size_t>(c)), Columns(static_cast<size_t>(c))};
  double* const plain = sums.dy.data();
  double* const weighted = sums.dy_normal.data();
  for (int64_t r = 0; r < shape.rows; ++r, dy += c, normal += c) {
    for (int64_t j = 0; j < c; ++j) {
      const double d = static_cast<double>(dy[j]);
      plain[j] += d;
      weighted[j] += d * static_cast<double>(normal[j]);
    }
  }
  return sums;
}

void TimesGain(const float* gain, Columns* sums) {
  for (size_t j = 0; j < sums->size(); ++j) (*sums)[j] *= static_cast<double>(gain[j]);
}

void AddTo(const Columns& from, Columns* to) {
  for (size_t j = 0; j < from.size(); ++j) (*to)[j] += from[j];
}

void InputGradient(const NormShape& shape, const float* dy, const float* normal, const float* inverse,
                   const float* gain, const BackwardSums& sums, float* dx) {
  const int64_t c = shape.channels;
  const std::vector<float> mean_h = Rounded(sums.dy), mean_hn = Rounded(sums.dy_normal);
  const float* const a = mean_h.data();
  const float* const b = mean_hn.data();
  for (int64_t r = 0; r < shape.rows; ++r, dy += c, normal += c, dx += c) {
    for (int64_t j = 0; j < c; ++j) dx[j] = ((dy[j] * gain[j] - a[j]) - normal[j] * b[j]) * inverse[j];
  }
}

}  // namespace

void SegmentNorm(const NormShape& shape, const float* x, const float* gain, const float* bias,
                 const NormResults& results) {
  const int64_t size = shape.rows * shape.channels;
  for (int64_t s = 0; s < shape.segments; ++s) {
    const Columns means = Means(shape, x + s * size);
    const Columns variances = Variances(shape, x + s * size, means);
    const std::vector<float> mean = Rounded(means), inverse = Inverses(variances, shape.eps);
    Normalise(shape, x + s * size, mean.data(), inverse.data(), results.normal + s * size);
    Scale(shape, results.normal + s * size, gain, bias, results.y + s * size);
    StoreByGroup(shape, mean, results.mean + s * shape.groups);
    StoreByGroup(shape, Rounded(variances), results.variance + s * shape.groups);
    StoreByGroup(shape, inverse, results.inverse + s * shape.groups);
  }
}

void NormWithStatistics(const NormShape& shape, const float* x, const float* gain, const float* bias, const float* mean,
                        const float* inverse, float* y) {
  const NormShape all = {1, shape.segments * shape.rows, shape.channels, shape.groups, shape.eps};
  Normalise(all, x, LoadByGroup(shape, mean).data(), LoadByGroup(shape, inverse).data(), y);
  Scale(all, y, gain, bias, y);
}

void SegmentNormBackward(const NormShape& shape, const float* dy, const float* normal, const float* inverse,
                         const float* gain, const NormGradients& gradients) {
  const int64_t c = shape.channels, size = shape.rows * c;
  BackwardSums total = {Columns(static_cast<size_t>(c)), Columns(static_cast<size_t>(c))};
  for (int64_t s = 0; s < shape.segments; ++s) {
    BackwardSums sums = SumsOf(shape, dy + s * size, normal + s * size);
    AddTo(sums.dy, &total.dy);
    AddTo(sums.dy_normal, &total.dy_normal);
    TimesGain(gain, &sums.dy);
    TimesGain(gain, &sums.dy_normal);
    DivideGroups(shape, &sums.dy);
    DivideGroups(shape, &sums.dy_normal);
    InputGradient(shape, dy + s * size, normal + s * size, LoadByGroup(shape, inverse + s * shape.groups).data(), gain,
                  sums, gradients.dx + s * size);
  }
  StoreByGroup({1, shape.rows, c, c}, Rounded(total.dy_normal), gradients.dgain);
  StoreByGroup({1, shape.rows, c, c}, Rounded(total.dy), gradients.dbias);
}

}  // namespace reprise::kernels
