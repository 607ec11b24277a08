#ifndef MODELS_DECODER_TEAM_KERNELS_H_
#define MODELS_DECODER_TEAM_KERNELS_H_

// Kernels whose work is divided among a team's threads: by rows where rows are independent, by outputs where a chain
// runs over rows. The arguments are those of the kernels; no division changes a bit.

#include <cstdint>
#include <functional>

#include "core/parallel/team.h"
#include "core/tensor/tensor.h"
#include "kernels/experts/experts.h"
#include "kernels/products/products.h"

namespace reprise::models {

// Runs kernels::Product, divided by rows.
void TeamProductOfRows(const Team& team, const kernels::ConstRows& x, const kernels::PackedMatrix& packed,
                       const kernels::Rows& y);

// Calls work(begin, end) for ranges that cover all rows: for elementwise kernels and others that read one row at a
// time.
void TeamRows(const Team& team, int64_t rows, const std::function<void(int64_t begin, int64_t end)>& work);

// Runs kernels::AccumulateWeightGradient, divided by outputs.
void TeamWeightGradient(const Team& team, const kernels::ConstRows& dy, const kernels::ConstRows& x,
                        const kernels::GradientChains& dw);

// Runs kernels::RmsNormBackward: dx divided by rows, dgain by columns.
void TeamRmsNormBackward(const Team& team, const kernels::ConstRows& x, const float* gain, const float* inverse_rms,
                         const kernels::ConstRows& dy, bool accumulate, const kernels::Rows& dx,
                         const kernels::GradientChains& dgain);

// Runs kernels::ExpertsBackward, expert by expert; `room` holds the gradients of dispatched rows.
void TeamExpertsBackward(const Team& team, const kernels::ExpertLayer& layer, const kernels::ConstRows& dy_TD,
                         const kernels::ExpertGradients* gradients_E, const kernels::Rows& dx_TD, float* dweight_TK,
                         Tensor* room);

}  // namespace reprise::models

#endif  // MODELS_DECODER_TEAM_KERNELS_H_
