#include "models/morphogenesis/networks/token_ops.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "core/tensor/room.h"
#include "kernels/embedding/embedding.h"
#include "kernels/lm_head/categorical.h"
#include "kernels/lm_head/lm_head.h"
#include "kernels/lm_head/row_statistics.h"
#include "kernels/products/products.h"
#include "kernels/rows/elementwise.h"
#include "kernels/sums/sums.h"
#include "models/morphogenesis/networks/autograd_node.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::LmHeadOperands;
using kernels::Rows;
using kernels::RowStatistics;

constexpr int64_t kRowsAtATime = 32;

// What the backward pass of a loss needs, beside its operands.
struct Scored {
  std::vector<int32_t> target;
  std::vector<RowStatistics> statistics;
  std::vector<double> loss;
  int64_t correct = 0;
};

bool FirstGreatestIs(const float* row, int64_t n, int32_t target) {
  return std::max_element(row, row + n) - row == target;
}

void ScoreRow(const float* z, int64_t n, Scored* scored) {
  const size_t row = scored->statistics.size();
  const int32_t target = scored->target[row];
  scored->statistics.push_back(kernels::StatisticsOfRow(n, z));
  scored->loss.push_back(-static_cast<double>(kernels::LogProbability(scored->statistics.back(), z[target])));
  scored->correct += FirstGreatestIs(z, n, target) ? 1 : 0;
}

at::Tensor MeanLoss(const Scored& scored) {
  at::Tensor mean = NewFloats({});
  MutableData(mean)[0] =
      static_cast<float>(kernels::TreeSum(scored.loss) / std::max(1.0, static_cast<double>(scored.loss.size())));
  return mean;
}

// The gradient of the mean by each row's log-probability.
std::vector<float> LogprobGradient(const at::Tensor& dmean, size_t rows) {
  return std::vector<float>(rows, -Data(dmean)[0] / static_cast<float>(rows));
}

Tensor& PackedRoom() {
  thread_local Tensor room;
  return room;
}

void ScoreTokens(const ConstRows& hidden, const at::Tensor& table_VC, Scored* scored) {
  const int64_t v = table_VC.size(0), c = table_VC.size(1);
  float* const packed = Room(PackedRoom(), kernels::PackedSize(v, c));
  kernels::PackForward(Data(table_VC), v, c, packed, 0, kernels::Panels(v));
  std::vector<float> logits(static_cast<size_t>(std::min(kRowsAtATime, hidden.rows) * v));
  for (int64_t begin = 0; begin < hidden.rows; begin += kRowsAtATime) {
    const Rows z = {logits.data(), std::min(kRowsAtATime, hidden.rows - begin), v};
    kernels::Product(hidden.Slice({begin, begin + z.rows}), packed, z);
    for (int64_t r = 0; r < z.rows; ++r) ScoreRow(z[r], v, scored);
  }
}

Tensors TokenGradients(const at::Tensor& hidden, const at::Tensor& table_VC, const Scored& scored,
                       const at::Tensor& dmean) {
  const int64_t v = table_VC.size(0), c = table_VC.size(1), rows = RowsOf(hidden).rows;
  std::vector<int64_t> first(static_cast<size_t>(rows + 1));
  std::iota(first.begin(), first.end(), 0);
  Tensor forward("", DType::kF32, {kernels::PackedSize(v, c)}),
      transposed("", DType::kF32, {kernels::PackedSize(c, v)});
  kernels::PackForward(Data(table_VC), v, c, forward.mutable_data<float>().data(), 0, kernels::Panels(v));
  kernels::PackTransposed(Data(table_VC), v, c, transposed.mutable_data<float>().data(), 0, kernels::Panels(c));
  LmHeadOperands operands;
  operands.hidden = RowsOf(hidden);
  operands.vocabulary = v;
  operands.w_packed = forward.data<float>().data();
  operands.w_transposed = transposed.data<float>().data();
  operands.targets = {first.data(), scored.target.data()};
  const std::vector<float> dlogprob = LogprobGradient(dmean, scored.target.size());
  Tensor scratch("", DType::kF32, {kernels::LmHeadBackwardScratch(rows, c, v)});
  Tensors gradients = {NewLike(hidden), NewLike(table_VC)};
  kernels::LmHeadBackward(operands, scored.statistics.data(), {.dlogprob = dlogprob.data()},
                          MutableRowsOf(gradients[0]), {.total = MutableData(gradients[1]), .last = true},
                          scratch.mutable_data<float>().data());
  return gradients;
}

}  // namespace

at::Tensor EmbedTokens(absl::Span<const int32_t> tokens_BT, int64_t length, const at::Tensor& table_VC,
                       const at::Tensor& positions_TC) {
  const int64_t c = table_VC.size(1), batch = static_cast<int64_t>(tokens_BT.size()) / length, part = length * c;
  at::Tensor y = NewFloats({batch, length, c});
  kernels::Embed(tokens_BT.data(), Data(table_VC), MutableRowsOf(y));
  for (int64_t b = 0; b < batch; ++b) {
    float* const rows = MutableData(y) + b * part;
    kernels::Add(part, rows, Data(positions_TC), rows);
  }
  auto tokens = std::make_shared<std::vector<int32_t>>(tokens_BT.begin(), tokens_BT.end());
  return Differentiable({table_VC, positions_TC}, y,
                        [tokens, batch, part, table = table_VC.detach(), positions = positions_TC.detach()](
                            const at::Tensor& dy, const auto&) {
                          Tensors gradients = {NewZerosLike(table), NewZerosLike(positions)};
                          kernels::EmbedBackward(tokens->data(), RowsOf(dy), -1, MutableData(gradients[0]));
                          for (int64_t b = 0; b < batch; ++b)
                            kernels::AddInto(part, Data(dy) + b * part, MutableData(gradients[1]));
                          return gradients;
                        });
}

BatchLoss CrossEntropy(const at::Tensor& logits_BK, absl::Span<const int32_t> targets_B) {
  auto scored = std::make_shared<Scored>();
  scored->target.assign(targets_B.begin(), targets_B.end());
  const ConstRows logits = RowsOf(logits_BK);
  for (int64_t r = 0; r < logits.rows; ++r) ScoreRow(logits[r], logits.width, scored.get());
  BatchLoss loss = {MeanLoss(*scored), scored->correct, logits.rows};
  loss.mean =
      Differentiable({logits_BK}, loss.mean, [scored, z = logits_BK.detach()](const at::Tensor& dy, const auto&) {
        const std::vector<float> dlogprob = LogprobGradient(dy, scored->target.size());
        at::Tensor dz = NewLike(z);
        kernels::CategoricalBackward({RowsOf(z), scored->statistics.data()}, 1.0f,
                                     {.action = scored->target.data(), .dlogprob = dlogprob.data()}, MutableRowsOf(dz));
        return Tensors{dz};
      });
  return loss;
}

BatchLoss TokenCrossEntropy(const at::Tensor& hidden_BTC, const at::Tensor& table_VC,
                            absl::Span<const int32_t> targets_BT) {
  auto scored = std::make_shared<Scored>();
  scored->target.assign(targets_BT.begin(), targets_BT.end());
  ScoreTokens(RowsOf(hidden_BTC), table_VC, scored.get());
  BatchLoss loss = {MeanLoss(*scored), scored->correct, static_cast<int64_t>(targets_BT.size())};
  loss.mean =
      Differentiable({hidden_BTC, table_VC}, loss.mean,
                     [scored, hidden = hidden_BTC.detach(), table = table_VC.detach()](
                         const at::Tensor& dy, const auto&) { return TokenGradients(hidden, table, *scored, dy); });
  return loss;
}

}  // namespace reprise::models
