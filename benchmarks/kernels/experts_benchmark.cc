// Times a layer of experts on one thread, forward and backward.

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/peers.h"
#include "benchmarks/kernels/rate.h"
#include "core/tensor/tensor.h"
#include "kernels/experts/experts.h"
#include "kernels/experts/test_layer.h"

namespace reprise::kernels {
namespace {

void Layers(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"experts", "top", "width", "expert_width", "tokens"})->UseManualTime()->MinTime(0.2);
  for (int64_t tokens : {1, 64, 512, 4096}) benchmark->Args({8, 2, 64, 64, tokens});
  for (int64_t tokens : {1, 64, 512, 4096}) benchmark->Args({16, 4, 256, 256, tokens});
  benchmark->Args({64, 8, 2048, 1024, 512});
}

Tensor Floats(int64_t size) { return Tensor("", DType::kF32, {size}); }

// A layer with everything that forward and backward need.
struct Bench {
  explicit Bench(const ::benchmark::State& state)
      : layer(RandomLayer({state.range(4), state.range(2), state.range(3), state.range(0), state.range(1)}, 1)),
        packed(layer),
        held(layer.sizes),
        y_TD(layer.x_TD.size()),
        dx_TD(layer.x_TD.size()),
        dweight_TK(layer.weight_TK.size()),
        gradients(Floats(3 * static_cast<int64_t>(layer.gate_EFD.size()))),
        scratch(Floats(ExpertsBackwardScratch(layer.sizes.tokens * layer.sizes.per_token, layer.sizes.width,
                                              layer.sizes.expert_width))) {}

  std::vector<benchmarks::Peer> Peers(bool backward) const {
    const LayerSizes& s = layer.sizes;
    return benchmarks::ExpertsPeers(s.tokens, s.width, s.expert_width, s.experts, s.per_token, backward);
  }

  double ForwardOperations() const {
    const LayerSizes& s = layer.sizes;
    return 2.0 * 3.0 * static_cast<double>(s.tokens * s.per_token * s.width * s.expert_width);
  }

  ExpertLayer Operands() { return {plan, packed.weights_E.data(), layer.weight_TK.data(), held.Views()}; }

  void Forward() {
    const LayerSizes& s = layer.sizes;
    PlanExperts(s.tokens, s.experts, s.per_token, layer.expert_TK.data(), &plan);
    ExpertsForward(Operands(), {layer.x_TD.data(), s.tokens, s.width}, {y_TD.data(), s.tokens, s.width});
  }

  void Backward() {
    const LayerSizes& s = layer.sizes;
    const int64_t matrix = s.width * s.expert_width;
    gradients_E.clear();
    for (int64_t e = 0; e < s.experts; ++e) {
      float* const g = gradients.mutable_data<float>().data() + 3 * e * matrix;
      gradients_E.push_back(
          {{g, nullptr, 0, true}, {g + matrix, nullptr, 0, true}, {g + 2 * matrix, nullptr, 0, true}});
    }
    ExpertsBackward(Operands(), {layer.dy_TD.data(), s.tokens, s.width}, gradients_E.data(),
                    {dx_TD.data(), s.tokens, s.width}, dweight_TK.data(), scratch.mutable_data<float>().data());
  }

  TestLayer layer;
  PackedExperts packed;
  HeldActivations held;
  ExpertPlan plan;
  std::vector<float> y_TD, dx_TD, dweight_TK;
  Tensor gradients, scratch;
  std::vector<ExpertGradients> gradients_E;
};

void BM_ExpertsForward(::benchmark::State& state) {
  Bench bench(state);
  benchmarks::ReportRate(state, bench.ForwardOperations(), [&] { bench.Forward(); }, bench.Peers(false));
}
BENCHMARK(BM_ExpertsForward)->Apply(Layers);

void BM_ExpertsBackward(::benchmark::State& state) {
  Bench bench(state);
  bench.Forward();
  benchmarks::ReportRate(state, 2 * bench.ForwardOperations(), [&] { bench.Backward(); }, bench.Peers(true));
}
BENCHMARK(BM_ExpertsBackward)->Apply(Layers);

}  // namespace
}  // namespace reprise::kernels
