#include "models/quiet_star/coherence.h"

#include <algorithm>

#include "core/tensor/room.h"
#include "kernels/math/vector_math.h"
#include "kernels/rows/cosine_rows.h"
#include "kernels/rows/elementwise.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::Rows;

constexpr float kSemantic = 0.4f, kSyntactic = 0.3f, kPredictive = 0.3f;

Rows RowsIn(Tensor& tensor, int64_t rows, int64_t width) { return {Room(tensor, rows * width), rows, width}; }

}  // namespace

CoherenceScorer::CoherenceScorer(int64_t width, FlatLayout* layout)
    : width_(width),
      semantic_({.inputs = width, .outputs = width}, "coherence.semantic", layout),
      syntactic_({.inputs = width, .hidden = {std::max<int64_t>(1, width / 2)}}, "coherence.syntactic", layout),
      predictive_({.inputs = width}, "coherence.predictive", layout) {}

void CoherenceScorer::Initialize(uint64_t seed, absl::Span<float> parameters) const {
  for (const Mlp* const part : {&semantic_, &syntactic_, &predictive_}) part->Initialize(seed, {}, parameters);
}

void CoherenceScorer::Refresh(absl::Span<const float> parameters) {
  for (Mlp* const part : {&semantic_, &syntactic_, &predictive_}) part->Refresh(parameters);
}

void CoherenceScorer::Forward(const ConstRows& base_KD, const ConstRows& mean_KD, float* coherence_K,
                              CoherenceBuffers* buffers) const {
  const int64_t rows = base_KD.rows;
  const Rows projected = RowsIn(buffers->projected_KD, rows, width_), cosine = RowsIn(buffers->cosine_K, rows, 1),
             syntactic = RowsIn(buffers->syntactic_K, rows, 1), predictive = RowsIn(buffers->predictive_K, rows, 1);
  semantic_.Forward(base_KD, projected, &buffers->semantic);
  kernels::CosineRows(projected, mean_KD, cosine.data, Room(buffers->norms_K2, 2 * rows));
  syntactic_.Forward(mean_KD, syntactic, &buffers->syntactic);
  predictive_.Forward(mean_KD, predictive, &buffers->predictive);
  kernels::Sigmoid(syntactic.data, syntactic.data, static_cast<size_t>(rows));
  kernels::Sigmoid(predictive.data, predictive.data, static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; ++r) {
    const float semantic = (cosine.data[r] + 1.0f) / 2.0f;
    const float sum = (kSemantic * semantic + kSyntactic * syntactic.data[r]) + kPredictive * predictive.data[r];
    coherence_K[r] = std::clamp(sum, 0.0f, 1.0f);  // rounding may leave the interval
  }
}

void CoherenceScorer::Backward(const ConstRows& base_KD, const ConstRows& mean_KD, const float* dcoherence_K,
                               const kernels::GradientChains& gradient, const Rows& dbase_KD, const Rows& dmean_KD,
                               CoherenceBuffers* buffers) const {
  const int64_t rows = base_KD.rows;
  const Rows projected = RowsIn(buffers->projected_KD, rows, width_), cosine = RowsIn(buffers->cosine_K, rows, 1);
  const Rows d = RowsIn(buffers->scratch_a, rows, 1), dprojected = RowsIn(buffers->scratch_b, rows, width_),
             dpart = RowsIn(buffers->scratch_c, rows, width_);
  for (int64_t r = 0; r < rows; ++r) d.data[r] = dcoherence_K[r] * (kSemantic / 2.0f);
  kernels::CosineRowsBackward(projected, mean_KD, cosine.data, Room(buffers->norms_K2, 2 * rows), d.data, dprojected,
                              dmean_KD);
  semantic_.Backward(base_KD, dprojected, gradient, dbase_KD, &buffers->semantic);
  const auto logistic_part = [&](const Mlp& part, float weight, Tensor& output, MlpBuffers* own) {
    const float* const y = Room(output, rows);
    for (int64_t r = 0; r < rows; ++r) d.data[r] = dcoherence_K[r] * weight * (y[r] * (1.0f - y[r]));
    part.Backward(mean_KD, d, gradient, dpart, own);
    kernels::Add(rows * width_, dmean_KD.data, dpart.data, dmean_KD.data);
  };
  logistic_part(syntactic_, kSyntactic, buffers->syntactic_K, &buffers->syntactic);
  logistic_part(predictive_, kPredictive, buffers->predictive_K, &buffers->predictive);
}

}  // namespace reprise::models
