#ifndef KERNELS_EXPERTS_EXPERTS_H_
#define KERNELS_EXPERTS_EXPERTS_H_

// A mixture-of-experts feed-forward layer, y_t = sum over the token's experts e, ascending, of
// weight_te * down_e(silu(gate_e x_t) * up_e x_t), as grouped products: rows sorted by expert, stable in row order.
//
// T rows, D model width, F expert width, E experts, K experts per token. R = T * K dispatched rows.
//
// Order contract. Products are those of kernels/products; gate and up are one matrix of 2F outputs.
//   forward    y_t starts at 0; y_t = fma(weight_te, out_te, y_t) over the token's experts, ascending
//   backward   dout_te = weight_te * dy_t;   dweight_te = chain over D, ascending, of dy_td * out_ted, restarted every
//              512;   an expert's input gradient is one chain over its 2F outputs, gate's first, restarted every 512;
//              dx_t starts at 0 and adds the experts' input gradients, ascending;   an expert's weight gradients are
//              chains over its own rows, segments counted in its own rows of the shard
// Additions come after the product that they are added to.
// Single-threaded and pure. A token's y and dx depend on that token alone. Experts without rows cost nothing.

#include <cstdint>
#include <vector>

#include "kernels/contract/operands.h"
#include "kernels/products/packed_matrix.h"

namespace reprise::kernels {

// Maps dispatched rows to tokens and experts.
struct ExpertPlan {
  int64_t per_token = 0;         // K
  std::vector<int64_t> begin_E;  // E + 1
  std::vector<int32_t> token_R;  // token of a dispatched row
  std::vector<int32_t> slot_R;   // its slot in [0, K) of that token
  std::vector<int32_t> row_TK;   // inverse: dispatched row of token t's slot k

  int64_t experts() const { return static_cast<int64_t>(begin_E.size()) - 1; }
  // The dispatched rows of an expert, in ascending token order.
  Range RowsOf(int64_t expert) const { return {begin_E[expert], begin_E[static_cast<size_t>(expert) + 1]}; }
};

// expert_TK: each token's experts in [0, E), ascending. Reuses the plan's memory. T * K < 2^31.
void PlanExperts(int64_t tokens, int64_t experts, int64_t per_token, const int32_t* expert_TK, ExpertPlan* plan);

// One expert's packed weights (kernels/products): gate and up as ONE matrix [2F, D] (gate rows first), down [D, F].
struct ExpertWeights {
  PackedMatrix gate_up;             // PackForward of [2F, D]
  PackedMatrix down;                // PackForward of [D, F]
  PackedMatrix gate_up_transposed;  // PackTransposed; only for backward
  PackedMatrix down_transposed;
};

// Results of the forward that the backward needs, over dispatched rows, dense, allocated by the caller.
struct ExpertActivations {
  Rows x_RD;         // gathered inputs
  Rows gate_up_R2F;  // before the SiLU gate
  Rows hidden_RF;    // silu(gate) * up
  Rows out_RD;       // down's outputs, unweighted
};

// What is added to the products of experts, such as adapters: called by the steps below, on their threads, with some or
// all of an expert's rows of the layer. A row's bits must depend on that row alone.
class ExpertAdditions {
 public:
  virtual ~ExpertAdditions() = default;

  // Adds to the columns of `panels` of gate and up, [rows, 2F], and of down's outputs, [rows, D], which are assigned.
  virtual void AddToGateUp(int64_t expert, const Range& panels) const = 0;
  virtual void AddToDown(int64_t expert, const Range& panels) const = 0;

  // Their backward passes, called once for each expert, also without rows in the shard's last call: add to the
  // gradients of down's inputs, dhidden_RF, from those of its outputs; and to dx_RD from dgate_up_R2F. The arguments
  // are the expert's rows.
  virtual void DownBackward(int64_t expert, const ConstRows& dout_RD, const Rows& dhidden_RF) const = 0;
  virtual void GateUpBackward(int64_t expert, const ConstRows& dgate_up_R2F, const Rows& dx_RD) const = 0;
};

// The operands of all passes over a layer.
struct ExpertLayer {
  const ExpertPlan& plan;
  const ExpertWeights* weights_E;
  const float* weight_TK;  // of the experts, in the order of expert_TK
  ExpertActivations activations;
  const ExpertAdditions* additions = nullptr;  // null: none
};

// Assigns y_TD.
void ExpertsForward(const ExpertLayer& layer, const ConstRows& x_TD, const Rows& y_TD);

// The steps of ExpertsForward, for threads that share them. Experts, and an expert's panels, are independent of each
// other; so are the tokens of MixExperts.
//   GatherExpert      the expert's inputs
//   GateUpOfExpert    panels of gate and up, from all its inputs
//   GateRows          silu(gate) * up of dispatched rows, of any experts
//   DownOfExpert      panels of down
//   MixExperts        y of some tokens
void GatherExpert(const ExpertLayer& layer, int64_t expert, const ConstRows& x_TD);
void GateUpOfExpert(const ExpertLayer& layer, int64_t expert, const Range& panels);
void GateRows(const ExpertLayer& layer, const Range& rows);
void DownOfExpert(const ExpertLayer& layer, int64_t expert, const Range& panels);
void MixExperts(const ExpertLayer& layer, const Range& tokens, const Rows& y_TD);

// The destination of an expert's weight gradients, whose rows are this expert's rows of the shard: first_row is their
// number before the call. gate and up are separate [F, D] matrices, down is [D, F].
struct ExpertGradients {
  GradientChains gate, up, down;
};

// Assigns dx_TD, whose dx_t adds the experts' parts in ascending expert index, and dweight_TK. `scratch` must hold at
// least ExpertsBackwardScratch(...) floats. If it is the shard's last call, it is so for every expert, also those
// without rows in this call.
int64_t ExpertsBackwardScratch(int64_t dispatched, int64_t width, int64_t expert_width);
void ExpertsBackward(const ExpertLayer& layer, const ConstRows& dy_TD, const ExpertGradients* gradients_E,
                     const Rows& dx_TD, float* dweight_TK, float* scratch);

// The steps of ExpertsBackward, for threads that share them. Experts are independent of each other; so are the tokens
// of SumExperts.
//   BackwardOfExpert   all but dx_TD: dx_RD, over dispatched rows, receives the gradients of the expert's inputs
//   SumExperts         dx of some tokens
// `scratch` must hold at least ExpertScratch(...) floats for the expert's rows.
int64_t ExpertScratch(int64_t rows, int64_t expert_width);
void BackwardOfExpert(const ExpertLayer& layer, int64_t expert, const ConstRows& dy_TD,
                      const ExpertGradients& gradients, const Rows& dx_RD, float* dweight_TK, float* scratch);
void SumExperts(const ExpertPlan& plan, const ConstRows& dx_RD, const Range& tokens, const Rows& dx_TD);

}  // namespace reprise::kernels

#endif  // KERNELS_EXPERTS_EXPERTS_H_
