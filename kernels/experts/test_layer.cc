#include "kernels/experts/test_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/products/products.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::RandomBelow;
using ::reprise::testing::RandomFloats;
using ::reprise::testing::RandomNormals;

// The initial contents of outputs, which a kernel must overwrite.
constexpr float kGarbage = std::numeric_limits<float>::quiet_NaN();

std::vector<float> Garbage(int64_t n) { return std::vector<float>(static_cast<size_t>(n), kGarbage); }

Tensor GarbageTensor(int64_t n) {
  Tensor floats("", DType::kF32, {n});
  std::ranges::fill(floats.mutable_data<float>(), kGarbage);
  return floats;
}

std::vector<int32_t> ChooseExperts(const LayerSizes& s, uint64_t seed, int64_t used) {
  std::vector<int32_t> expert_TK;
  for (int64_t t = 0; t < s.tokens; ++t) {
    std::vector<int32_t> chosen;
    for (uint64_t draw = 0; static_cast<int64_t>(chosen.size()) < s.per_token; ++draw) {
      const auto e = static_cast<int32_t>(RandomBelow(used, seed, static_cast<uint64_t>(t) * 4096 + draw));
      if (std::find(chosen.begin(), chosen.end(), e) == chosen.end()) chosen.push_back(e);
    }
    std::sort(chosen.begin(), chosen.end());
    expert_TK.insert(expert_TK.end(), chosen.begin(), chosen.end());
  }
  return expert_TK;
}

template <typename T>
std::vector<T> Slice(const std::vector<T>& rows, int64_t width, int64_t begin, int64_t end) {
  return std::vector<T>(rows.begin() + begin * width, rows.begin() + end * width);
}

}  // namespace

TestLayer RandomLayer(const LayerSizes& s, uint64_t seed, int64_t used_experts) {
  const int64_t matrix = s.experts * s.expert_width * s.width;
  const auto scale = [](int64_t contraction) { return 1.0f / std::sqrt(static_cast<float>(contraction) + 1.0f); };
  return {.sizes = s,
          .x_TD = RandomNormals(s.tokens * s.width, seed),
          .weight_TK = RandomFloats(s.tokens * s.per_token, seed + 1, 0.1f, 0.9f),
          .dy_TD = RandomNormals(s.tokens * s.width, seed + 2),
          .gate_EFD = RandomNormals(matrix, seed + 3, scale(s.width)),
          .up_EFD = RandomNormals(matrix, seed + 4, scale(s.width)),
          .down_EDF = RandomNormals(matrix, seed + 5, scale(s.expert_width)),
          .expert_TK = ChooseExperts(s, seed + 6, used_experts == 0 ? s.experts : used_experts)};
}

TestLayer RowsOf(const TestLayer& layer, int64_t begin, int64_t end) {
  TestLayer rows = layer;
  rows.sizes.tokens = end - begin;
  rows.x_TD = Slice(layer.x_TD, layer.sizes.width, begin, end);
  rows.dy_TD = Slice(layer.dy_TD, layer.sizes.width, begin, end);
  rows.weight_TK = Slice(layer.weight_TK, layer.sizes.per_token, begin, end);
  rows.expert_TK = Slice(layer.expert_TK, layer.sizes.per_token, begin, end);
  return rows;
}

PackedExperts::PackedExperts(const TestLayer& layer) {
  const int64_t d = layer.sizes.width, f = layer.sizes.expert_width;
  using PackFunction = void (*)(const float*, int64_t, int64_t, float*, int64_t, int64_t);
  const auto pack = [&](PackFunction pack_function, const std::vector<float>& w, int64_t n, int64_t k,
                        bool transposed) {
    const int64_t outputs = transposed ? k : n;
    buffers.emplace_back("", DType::kF32, std::vector<int64_t>{PackedSize(outputs, transposed ? n : k)});
    float* const packed = buffers.back().mutable_data<float>().data();
    pack_function(w.data(), n, k, packed, 0, Panels(outputs));
    return packed;
  };
  for (int64_t e = 0; e < layer.sizes.experts; ++e) {
    std::vector<float> gate_up = Slice(layer.gate_EFD, f * d, e, e + 1);
    const std::vector<float> up = Slice(layer.up_EFD, f * d, e, e + 1);
    const std::vector<float> down = Slice(layer.down_EDF, f * d, e, e + 1);
    gate_up.insert(gate_up.end(), up.begin(), up.end());
    weights_E.push_back({.gate_up = pack(PackForward, gate_up, 2 * f, d, false),
                         .down = pack(PackForward, down, d, f, false),
                         .gate_up_transposed = pack(PackTransposed, gate_up, 2 * f, d, true),
                         .down_transposed = pack(PackTransposed, down, d, f, true)});
  }
}

HeldActivations::HeldActivations(const LayerSizes& s)
    : width(s.width),
      expert_width(s.expert_width),
      x_RD(GarbageTensor(s.tokens * s.per_token * s.width)),
      gate_up_R2F(GarbageTensor(s.tokens * s.per_token * 2 * s.expert_width)),
      hidden_RF(GarbageTensor(s.tokens * s.per_token * s.expert_width)),
      out_RD(GarbageTensor(s.tokens * s.per_token * s.width)) {}

ExpertActivations HeldActivations::Views() {
  const auto rows = [](Tensor& tensor, int64_t columns) {
    return Rows{tensor.mutable_data<float>().data(), tensor.size() / columns, columns};
  };
  return {rows(x_RD, width), rows(gate_up_R2F, 2 * expert_width), rows(hidden_RF, expert_width), rows(out_RD, width)};
}

LayerResults RunKernels(const TestLayer& layer, std::vector<int64_t> cuts) {
  const LayerSizes& s = layer.sizes;
  const int64_t d = s.width, k = s.per_token, matrix = s.expert_width * d;
  const PackedExperts packed(layer);
  LayerResults results = {Garbage(s.tokens * d),       Garbage(s.tokens * d),       Garbage(s.tokens * k),
                          Garbage(s.experts * matrix), Garbage(s.experts * matrix), Garbage(s.experts * matrix)};
  std::vector<float> open = Garbage(3 * s.experts * matrix);
  std::vector<ExpertGradients> gradients_E;
  for (int64_t e = 0; e < s.experts; ++e) {
    float* const open_e = open.data() + 3 * e * matrix;
    gradients_E.push_back({{&results.gate_EFD[e * matrix], open_e},
                           {&results.up_EFD[e * matrix], open_e + matrix},
                           {&results.down_EDF[e * matrix], open_e + 2 * matrix}});
  }
  const Rows y_TD = {results.y_TD.data(), s.tokens, d}, dx_TD = {results.dx_TD.data(), s.tokens, d};
  cuts.push_back(s.tokens);
  int64_t begin = 0;
  for (const int64_t& end : cuts) {
    const TestLayer rows = RowsOf(layer, begin, end);
    ExpertPlan plan;
    PlanExperts(end - begin, s.experts, k, rows.expert_TK.data(), &plan);
    HeldActivations held(rows.sizes);
    const ExpertLayer call = {plan, packed.weights_E.data(), rows.weight_TK.data(), held.Views()};
    ExpertsForward(call, {rows.x_TD.data(), end - begin, d}, y_TD.Slice({begin, end}));
    std::vector<float> scratch = Garbage(ExpertsBackwardScratch((end - begin) * k, d, s.expert_width));
    for (ExpertGradients& g : gradients_E) g.gate.last = g.up.last = g.down.last = &end == &cuts.back();
    ExpertsBackward(call, {rows.dy_TD.data(), end - begin, d}, gradients_E.data(), dx_TD.Slice({begin, end}),
                    results.dweight_TK.data() + begin * k, scratch.data());
    for (int64_t e = 0; e < s.experts; ++e) {
      ExpertGradients& g = gradients_E[e];
      g.gate.first_row = g.up.first_row = g.down.first_row += plan.RowsOf(e).size();
    }
    begin = end;
  }
  return results;
}

}  // namespace reprise::kernels
