#ifndef MODELS_DECODER_TEAM_KERNELS_H_
#define MODELS_DECODER_TEAM_KERNELS_H_

// Kernels whose work a team shares: rows where rows are independent, outputs where a chain runs over rows. The
// arguments are those of the kernels; no cut changes a bit.

#include <cstdint>
#include <functional>

#include "core/parallel/team.h"
#include "core/tensor/tensor.h"
#include "kernels/experts/experts.h"
#include "kernels/products/products.h"

namespace reprise::models {

// kernels::Product by rows.
void TeamProductOfRows(const Team& team, int64_t rows, int64_t outputs, int64_t contraction, const float* x,
                       int64_t ldx, const kernels::PackedMatrix& packed, float* y, int64_t ldy);

// Calls work(begin, end) for ranges that make up all rows: for elementwise kernels and others that see one row at a
// time.
void TeamRows(const Team& team, int64_t rows, const std::function<void(int64_t begin, int64_t end)>& work);

// kernels::AccumulateWeightGradient by outputs.
void TeamWeightGradient(const Team& team, int64_t rows, int64_t n, int64_t k, const float* dy, int64_t lddy,
                        const float* x, int64_t ldx, int64_t first_row, bool last, float* total, float* open);

// kernels::RmsNormBackward: dx by rows, dgain by columns.
void TeamRmsNormBackward(const Team& team, int64_t rows, int64_t n, const float* x, int64_t ldx, const float* gain,
                         const float* inverse_rms, const float* dy, int64_t lddy, bool accumulate, float* dx,
                         int64_t lddx, int64_t first_row, bool last, float* total_dgain, float* open_dgain);

// kernels::ExpertsBackward expert by expert; `room` holds the gradients of dispatched rows.
void TeamExpertsBackward(const Team& team, int64_t tokens, int64_t width, int64_t expert_width,
                         const kernels::ExpertPlan& plan, int64_t per_token, const kernels::ExpertWeights* weights_E,
                         const float* weight_TK, const kernels::ExpertActivations& activations, const float* dy_TD,
                         int64_t lddy, bool last, kernels::ExpertGradients* gradients_E, float* dx_TD, int64_t lddx,
                         float* dweight_TK, Tensor* room);

}  // namespace reprise::models

#endif  // MODELS_DECODER_TEAM_KERNELS_H_
