#include <cstddef>

#include "kernels/experts/experts.h"
#include "kernels/experts/token_rows.h"
#include "kernels/products/products.h"
#include "kernels/rows/silu_gate.h"

namespace reprise::kernels {

void ExpertsForward(int64_t tokens, int64_t width, int64_t expert_width, const ExpertPlan& plan, int64_t per_token,
                    const ExpertWeights* weights_E, const float* x_TD, int64_t ldx, const float* weight_TK,
                    const ExpertActivations& activations, float* y_TD, int64_t ldy) {
  const int64_t gate_up_width = 2 * expert_width;
  for (size_t e = 0; e + 1 < plan.begin_E.size(); ++e) {
    const int64_t first = plan.begin_E[e], rows = plan.begin_E[e + 1] - first;
    if (rows == 0) continue;
    float* const x = activations.x_RD + first * width;
    float* const gate_up = activations.gate_up_R2F + first * gate_up_width;
    float* const hidden = activations.hidden_RF + first * expert_width;
    GatherRows(rows, width, plan.token_R.data() + first, x_TD, ldx, x);
    Product(rows, gate_up_width, width, x, width, weights_E[e].gate_up, gate_up, gate_up_width);
    SiluGate(rows, expert_width, gate_up, gate_up + expert_width, gate_up_width, hidden, expert_width);
    Product(rows, width, expert_width, hidden, expert_width, weights_E[e].down, activations.out_RD + first * width,
            width);
  }
  MixRows(tokens, width, per_token, plan.row_TK.data(), weight_TK, activations.out_RD, y_TD, ldy);
}

}  // namespace reprise::kernels
