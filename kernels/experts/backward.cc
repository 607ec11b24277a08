#include "kernels/experts/experts.h"
#include "kernels/experts/token_rows.h"
#include "kernels/products/products.h"
#include "kernels/rows/silu_gate.h"

namespace reprise::kernels {

int64_t ExpertScratch(int64_t rows, int64_t expert_width) { return rows * 3 * expert_width; }

void BackwardOfExpert(const ExpertLayer& layer, int64_t expert, const ConstRows& dy_TD,
                      const ExpertGradients& gradients, const Rows& dx_RD, float* dweight_TK, float* scratch) {
  const Range rows = layer.plan.RowsOf(expert);
  if (rows.size() == 0 && !gradients.down.last) return;
  const ConstRows x = layer.activations.x_RD.Slice(rows), gate_up = layer.activations.gate_up_R2F.Slice(rows);
  const ConstRows hidden = layer.activations.hidden_RF.Slice(rows);
  const int64_t f = hidden.width;
  const Rows dhidden = {scratch, rows.size(), f}, dgate_up = {scratch + rows.size() * f, rows.size(), 2 * f};
  const Rows dgate = dgate_up.Columns(0, f), dup = dgate_up.Columns(f, f);

  const Rows dx = dx_RD.Slice(rows);  // until the last product the gradient of down's outputs
  const Dispatch dispatch = {layer.plan.token_R.data() + rows.begin, layer.plan.slot_R.data() + rows.begin,
                             layer.plan.per_token};
  GatherScaledRows(dispatch, layer.weight_TK, dy_TD, dx);
  DotRows(dispatch, dy_TD, layer.activations.out_RD.Slice(rows), dweight_TK);
  AccumulateWeightGradient(dx, hidden, gradients.down);
  if (rows.size() > 0) Product(dx, layer.weights_E[expert].down_transposed, dhidden);
  if (layer.additions != nullptr) layer.additions->DownBackward(expert, dx, dhidden);
  if (rows.size() > 0) {
    SiluGateBackward(gate_up.Columns(0, f), gate_up.Columns(f, f), dhidden, dgate, dup);
    Product(dgate_up, layer.weights_E[expert].gate_up_transposed, dx);
  }
  if (layer.additions != nullptr) layer.additions->GateUpBackward(expert, dgate_up, dx);
  AccumulateWeightGradient(dgate, x, gradients.gate);
  AccumulateWeightGradient(dup, x, gradients.up);
}

void SumExperts(const ExpertPlan& plan, const ConstRows& dx_RD, const Range& tokens, const Rows& dx_TD) {
  AddRows(plan.per_token, plan.row_TK.data() + tokens.begin * plan.per_token, dx_RD, dx_TD.Slice(tokens));
}

int64_t ExpertsBackwardScratch(int64_t dispatched, int64_t width, int64_t expert_width) {
  return dispatched * width + ExpertScratch(dispatched, expert_width);
}

void ExpertsBackward(const ExpertLayer& layer, const ConstRows& dy_TD, const ExpertGradients* gradients_E,
                     const Rows& dx_TD, float* dweight_TK, float* scratch) {
  const Rows dx_RD = {scratch, layer.plan.begin_E.back(), dx_TD.width};
  // The same scratch for every expert, so that it stays in cache.
  float* const work = scratch + dx_RD.rows * dx_RD.width;
  for (int64_t e = 0; e < layer.plan.experts(); ++e) {
    BackwardOfExpert(layer, e, dy_TD, gradients_E[e], dx_RD, dweight_TK, work);
  }
  SumExperts(layer.plan, dx_RD, {0, dx_TD.rows}, dx_TD);
}

}  // namespace reprise::kernels
