#ifndef RL_SCHEDULE_GRADIENT_CLIP_H_
#define RL_SCHEDULE_GRADIENT_CLIP_H_

namespace reprise::rl {

// What a gradient of this norm is multiplied by: min(1, max_norm / (norm + 1e-6)), as PyTorch's clip_grad_norm_;
// 1 where max_norm is 0 (no clipping). `norm` must be finite (checked): a NaN would poison every healthy gradient.
double GradientClipFactor(double norm, double max_norm);

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_GRADIENT_CLIP_H_
