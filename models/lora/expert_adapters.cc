#include "models/lora/expert_adapters.h"

#include <algorithm>

#include "core/status/check.h"
#include "kernels/products/packed_matrix.h"

namespace reprise::models {
namespace {

// The columns of some panels of a matrix of `width` outputs.
kernels::Range ColumnsOf(const kernels::Range& panels, int64_t width) {
  return {panels.begin * kernels::kPanel, std::min(panels.end * kernels::kPanel, width)};
}

}  // namespace

RowSeeds ExpertAdapters::SeedsOf(const kernels::Range& rows) const {
  return RowSeeds{dropout_T_, plan_.token_R.data()}.From(rows.begin);
}

void ExpertAdapters::AddToGateUp(int64_t expert, const kernels::Range& panels) const {
  const kernels::Range rows = plan_.RowsOf(expert);
  const kernels::ConstRows x = activations_.x_RD.Slice(rows);
  const kernels::Rows gate_up = activations_.gate_up_R2F.Slice(rows);
  const int64_t width = activations_.hidden_RF.width;
  const kernels::Range columns = ColumnsOf(panels, 2 * width);
  const size_t e = static_cast<size_t>(expert);
  AddAdapter(adapters_.gate_E[e], x, SeedsOf(rows), gate_up.Columns(0, width),
             {columns.begin, std::min(columns.end, width)});
  AddAdapter(adapters_.up_E[e], x, SeedsOf(rows), gate_up.Columns(width, width),
             {std::max<int64_t>(columns.begin - width, 0), columns.end - width});
}

void ExpertAdapters::AddToDown(int64_t expert, const kernels::Range& panels) const {
  const kernels::Range rows = plan_.RowsOf(expert);
  const kernels::Rows out = activations_.out_RD.Slice(rows);
  AddAdapter(adapters_.down_E[expert], activations_.hidden_RF.Slice(rows), SeedsOf(rows), out,
             ColumnsOf(panels, out.width));
}

void ExpertAdapters::DownBackward(int64_t expert, const kernels::ConstRows& dout_RD,
                                  const kernels::Rows& dhidden_RF) const {
  CHECK(gradients_ != nullptr);
  const kernels::Range rows = plan_.RowsOf(expert);
  const size_t e = static_cast<size_t>(expert);
  AdapterBackward(adapters_.down_E[e], activations_.hidden_RF.Slice(rows), SeedsOf(rows), dout_RD,
                  gradients_->down_E[e], dhidden_RF);
}

void ExpertAdapters::GateUpBackward(int64_t expert, const kernels::ConstRows& dgate_up_R2F,
                                    const kernels::Rows& dx_RD) const {
  CHECK(gradients_ != nullptr);
  const kernels::Range rows = plan_.RowsOf(expert);
  const kernels::ConstRows x = activations_.x_RD.Slice(rows);
  const int64_t width = activations_.hidden_RF.width;
  const size_t e = static_cast<size_t>(expert);
  AdapterBackward(adapters_.gate_E[e], x, SeedsOf(rows), dgate_up_R2F.Columns(0, width), gradients_->gate_E[e], dx_RD);
  AdapterBackward(adapters_.up_E[e], x, SeedsOf(rows), dgate_up_R2F.Columns(width, width), gradients_->up_E[e], dx_RD);
}

}  // namespace reprise::models
