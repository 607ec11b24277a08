#ifndef KERNELS_OPTIMIZER_ADAMW_H_
#define KERNELS_OPTIMIZER_ADAMW_H_

// AdamW (Loshchilov & Hutter 2019) as torch.optim.AdamW computes it, elementwise.

#include <cstdint>

namespace reprise::kernels {

struct AdamWStep {
  float gradient_scale = 1;  // from norm clipping: g = gradient * gradient_scale
  float decay = 1;           // 1 - learning_rate * weight_decay
  float beta1 = 0.9f, beta2 = 0.999f;
  float step_size = 0;           // learning_rate / (1 - beta1^t)
  float inverse_root_bias2 = 1;  // 1 / sqrt(1 - beta2^t)
  float epsilon = 1e-8f;
};

// The scalars of update t (t >= 1), computed in double and rounded once.
AdamWStep MakeAdamWStep(double learning_rate, double beta1, double beta2, double epsilon, double weight_decay,
                        int64_t t, double gradient_scale);

// m = fma(1-beta1, g-m, m); v = fma(1-beta2, g*g, beta2*v); w = w*decay - step_size * m / (sqrt(v)*inverse_root_bias2 +
// epsilon). All arrays have n elements; the same bits however the array is split.
void AdamWUpdate(int64_t n, const AdamWStep& step, const float* gradient, float* weight, float* m, float* v);

}  // namespace reprise::kernels

#endif  // KERNELS_OPTIMIZER_ADAMW_H_
