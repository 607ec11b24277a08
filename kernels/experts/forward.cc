#include "kernels/experts/experts.h"
#include "kernels/experts/token_rows.h"
#include "kernels/products/products.h"
#include "kernels/rows/silu_gate.h"

namespace reprise::kernels {

void GatherExpert(const ExpertLayer& layer, int64_t expert, const ConstRows& x_TD) {
  const Range rows = layer.plan.RowsOf(expert);
  GatherRows(layer.plan.token_R.data() + rows.begin, x_TD, layer.activations.x_RD.Slice(rows));
}

void GateUpOfExpert(const ExpertLayer& layer, int64_t expert, const Range& panels) {
  const Range rows = layer.plan.RowsOf(expert);
  Product(layer.activations.x_RD.Slice(rows), layer.weights_E[expert].gate_up,
          layer.activations.gate_up_R2F.Slice(rows), panels);
  if (layer.additions != nullptr) layer.additions->AddToGateUp(expert, panels);
}

void GateRows(const ExpertLayer& layer, const Range& rows) {
  const Rows hidden = layer.activations.hidden_RF.Slice(rows), gate_up = layer.activations.gate_up_R2F.Slice(rows);
  SiluGate(gate_up.Columns(0, hidden.width), gate_up.Columns(hidden.width, hidden.width), hidden);
}

void DownOfExpert(const ExpertLayer& layer, int64_t expert, const Range& panels) {
  const Range rows = layer.plan.RowsOf(expert);
  Product(layer.activations.hidden_RF.Slice(rows), layer.weights_E[expert].down, layer.activations.out_RD.Slice(rows),
          panels);
  if (layer.additions != nullptr) layer.additions->AddToDown(expert, panels);
}

void MixExperts(const ExpertLayer& layer, const Range& tokens, const Rows& y_TD) {
  const int64_t per_token = layer.plan.per_token, first = tokens.begin * per_token;
  MixRows(per_token, layer.plan.row_TK.data() + first, layer.weight_TK + first, layer.activations.out_RD,
          y_TD.Slice(tokens));
}

void ExpertsForward(const ExpertLayer& layer, const ConstRows& x_TD, const Rows& y_TD) {
  for (int64_t e = 0; e < layer.plan.experts(); ++e) {
    const Range rows = layer.plan.RowsOf(e);
    if (rows.size() == 0) continue;
    GatherExpert(layer, e, x_TD);
    GateUpOfExpert(layer, e, {0, Panels(layer.activations.gate_up_R2F.width)});
    GateRows(layer, rows);
    DownOfExpert(layer, e, {0, Panels(layer.activations.out_RD.width)});
  }
  MixExperts(layer, {0, y_TD.rows}, y_TD);
}

}  // namespace reprise::kernels
