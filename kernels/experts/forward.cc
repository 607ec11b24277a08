#include <cstddef>

#include "kernels/experts/experts.h"
#include "kernels/experts/token_rows.h"
#include "kernels/products/products.h"
#include "kernels/rows/silu_gate.h"

namespace reprise::kernels {
namespace {

int64_t FirstRow(const ExpertPlan& plan, int64_t expert) { return plan.begin_E[static_cast<size_t>(expert)]; }

int64_t RowsOf(const ExpertPlan& plan, int64_t expert) { return FirstRow(plan, expert + 1) - FirstRow(plan, expert); }

}  // namespace

void GatherExpert(int64_t width, const ExpertPlan& plan, int64_t expert, const float* x_TD, int64_t ldx,
                  const ExpertActivations& activations) {
  const int64_t first = FirstRow(plan, expert);
  GatherRows(RowsOf(plan, expert), width, plan.token_R.data() + first, x_TD, ldx, activations.x_RD + first * width);
}

void GateUpOfExpert(int64_t width, int64_t expert_width, const ExpertPlan& plan, int64_t expert,
                    const ExpertWeights& weights, const ExpertActivations& activations, int64_t first_panel,
                    int64_t last_panel) {
  const int64_t first = FirstRow(plan, expert), outputs = 2 * expert_width;
  Product(RowsOf(plan, expert), outputs, width, activations.x_RD + first * width, width, weights.gate_up,
          activations.gate_up_R2F + first * outputs, outputs, first_panel, last_panel);
}

void GateRows(int64_t expert_width, const ExpertActivations& activations, int64_t first_row, int64_t last_row) {
  const float* const gate = activations.gate_up_R2F + first_row * 2 * expert_width;
  SiluGate(last_row - first_row, expert_width, gate, gate + expert_width, 2 * expert_width,
           activations.hidden_RF + first_row * expert_width, expert_width);
}

void DownOfExpert(int64_t width, int64_t expert_width, const ExpertPlan& plan, int64_t expert,
                  const ExpertWeights& weights, const ExpertActivations& activations, int64_t first_panel,
                  int64_t last_panel) {
  const int64_t first = FirstRow(plan, expert);
  Product(RowsOf(plan, expert), width, expert_width, activations.hidden_RF + first * expert_width, expert_width,
          weights.down, activations.out_RD + first * width, width, first_panel, last_panel);
}

void MixExperts(int64_t width, const ExpertPlan& plan, int64_t per_token, const float* weight_TK,
                const ExpertActivations& activations, int64_t first_token, int64_t last_token, float* y_TD,
                int64_t ldy) {
  MixRows(last_token - first_token, width, per_token, plan.row_TK.data() + first_token * per_token,
          weight_TK + first_token * per_token, activations.out_RD, y_TD + first_token * ldy, ldy);
}

void ExpertsForward(int64_t tokens, int64_t width, int64_t expert_width, const ExpertPlan& plan, int64_t per_token,
                    const ExpertWeights* weights_E, const float* x_TD, int64_t ldx, const float* weight_TK,
                    const ExpertActivations& activations, float* y_TD, int64_t ldy) {
  const int64_t experts = static_cast<int64_t>(plan.begin_E.size()) - 1;
  for (int64_t e = 0; e < experts; ++e) {
    if (RowsOf(plan, e) == 0) continue;
    GatherExpert(width, plan, e, x_TD, ldx, activations);
    GateUpOfExpert(width, expert_width, plan, e, weights_E[e], activations, 0, Panels(2 * expert_width));
    GateRows(expert_width, activations, FirstRow(plan, e), FirstRow(plan, e + 1));
    DownOfExpert(width, expert_width, plan, e, weights_E[e], activations, 0, Panels(width));
  }
  MixExperts(width, plan, per_token, weight_TK, activations, 0, tokens, y_TD, ldy);
}

}  // namespace reprise::kernels
