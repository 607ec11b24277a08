#include "models/decoder/team_kernels.h"

#include "core/tensor/room.h"
#include "kernels/rows/rms_norm.h"
#include "models/decoder/room.h"

namespace reprise::models {
namespace {

// Smaller parts are not worth having another thread read the other operand.
constexpr int64_t kLeastRows = 16, kLeastOutputs = 32, kLeastColumns = 64;

}  // namespace

void TeamProductOfRows(const Team& team, const kernels::ConstRows& x, const kernels::PackedMatrix& packed,
                       const kernels::Rows& y) {
  team.ForRanges(x.rows, kLeastRows, [&](int64_t begin, int64_t end) {
    kernels::Product(x.Slice({begin, end}), packed, y.Slice({begin, end}));
  });
}

void TeamRows(const Team& team, int64_t rows, const std::function<void(int64_t, int64_t)>& work) {
  team.ForRanges(rows, kLeastRows, work);
}

void TeamWeightGradient(const Team& team, const kernels::ConstRows& dy, const kernels::ConstRows& x,
                        const kernels::GradientChains& dw) {
  team.ForRanges(dy.width, kLeastOutputs, [&](int64_t begin, int64_t end) {
    kernels::AccumulateWeightGradient(dy.Columns(begin, end - begin), x, dw.From(begin * x.width));
  });
}

void TeamRmsNormBackward(const Team& team, const kernels::ConstRows& x, const float* gain, const float* inverse_rms,
                         const kernels::ConstRows& dy, bool accumulate, const kernels::Rows& dx,
                         const kernels::GradientChains& dgain) {
  if (team.threads() == 1) {  // computing both together reads x and dy once
    kernels::RmsNormBackward(x, gain, inverse_rms, dy, accumulate, dx, dgain);
    return;
  }
  // The gain's gradient comes first, because dx may overwrite dy.
  team.ForRanges(dgain.total == nullptr ? 0 : x.width, kLeastColumns, [&](int64_t begin, int64_t end) {
    const int64_t columns = end - begin;
    kernels::RmsNormBackward(x.Columns(begin, columns), gain + begin, inverse_rms, dy.Columns(begin, columns),
                             accumulate, {}, dgain.From(begin));
  });
  team.ForRanges(x.rows, kLeastRows, [&](int64_t begin, int64_t end) {
    const kernels::Range rows = {begin, end};
    kernels::RmsNormBackward(x.Slice(rows), gain, inverse_rms + begin, dy.Slice(rows), accumulate, dx.Slice(rows),
                             {nullptr, nullptr, dgain.first_row + begin});
  });
}

void TeamExpertsBackward(const Team& team, const kernels::ExpertLayer& layer, const kernels::ConstRows& dy_TD,
                         const kernels::ExpertGradients* gradients_E, const kernels::Rows& dx_TD, float* dweight_TK,
                         Tensor* room) {
  const kernels::Rows dx_RD = RoomForRows(*room, layer.plan.begin_E.back(), dx_TD.width);
  team.ForEach(layer.plan.experts(), [&](int64_t e, int) {
    thread_local Tensor work;  // per thread, the same for every expert, so that it stays in cache
    const int64_t floats = kernels::ExpertScratch(layer.plan.RowsOf(e).size(), layer.activations.hidden_RF.width);
    kernels::BackwardOfExpert(layer, e, dy_TD, gradients_E[e], dx_RD, dweight_TK, Room(work, floats));
  });
  TeamRows(team, dx_TD.rows,
           [&](int64_t begin, int64_t end) { kernels::SumExperts(layer.plan, dx_RD, {begin, end}, dx_TD); });
}

}  // namespace reprise::models
