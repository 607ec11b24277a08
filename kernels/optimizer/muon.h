#ifndef KERNELS_OPTIMIZER_MUON_H_
#define KERNELS_OPTIMIZER_MUON_H_

// The elementwise arithmetic of MuonGrokfast: a filter that amplifies the slow part of gradients (Grokfast-EMA, Lee et
// al. 2024, arXiv 2405.20233), momentum, and the update of a matrix by an orthogonalised direction (Muon, Jordan 2024;
// kernels/optimizer/orthogonalize.h). The same bits however an array is split.

#include <cstdint>

namespace reprise::kernels {

struct GrokfastFilter {
  float gradient_scale = 1;  // from norm clipping
  float alpha = 0.98f;       // decay of the running mean
  float one_minus_alpha = 0.02f;
  float lambda = 2;             // amplification
  bool starts = false;          // whether the gradient becomes the mean, instead of being added to it
  bool amplifies_fast = false;  // the part that the mean does not explain, instead of the mean: for comparisons
};

// The filter of update t (t >= 1). starts_at_gradient: the mean starts at the first gradient, else at 0. lambda 0
// leaves the gradients as they are.
GrokfastFilter MakeGrokfastFilter(double alpha, double lambda, bool starts_at_gradient, bool amplifies_fast, int64_t t,
                                  double gradient_scale);

// In this order:  g = gradient * gradient_scale;  mean = g where the filter starts, else
// fma(one_minus_alpha, g, alpha * mean);  filtered = fma(lambda, mean, g), or fma(lambda, g - mean, g) where it
// amplifies the fast part.
void FilterGradient(int64_t n, const GrokfastFilter& filter, const float* gradient, float* mean, float* filtered);

// In this order:  buffer = fma(momentum, buffer, g);  direction = fma(momentum, buffer, g) with Nesterov's momentum,
// else buffer. direction may be g.
void AddMomentum(int64_t n, float momentum, bool nesterov, const float* g, float* buffer, float* direction);

// y = fma(a, x, b * y); x may be y.
void Combine(int64_t n, float a, const float* x, float b, float* y);

// w = fma(-step_size, direction, w * decay). Returns whether every new weight is within bounds (core/tensor/bounds.h).
bool TakeStep(int64_t n, float step_size, float decay, const float* direction, float* w);

}  // namespace reprise::kernels

#endif  // KERNELS_OPTIMIZER_MUON_H_
