// Times the router of a mixture of experts: softmax over experts and the choice of the most probable.
//   bazel run -c opt //benchmarks/kernels:tokens_benchmark -- --benchmark_filter=Router

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/array.h"
#include "benchmarks/kernels/rate.h"
#include "benchmarks/kernels/token_peers.h"
#include "kernels/router/router.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::benchmarks::Array;
using ::reprise::benchmarks::ReportBandwidth;
using ::reprise::testing::RandomFloats;
using ::reprise::testing::RandomNormals;

struct Routed {
  explicit Routed(const ::benchmark::State& state)
      : tokens(state.range(0)),
        experts(state.range(1)),
        per_token(state.range(2)),
        logits_TE(RandomNormals(tokens * experts, 1)),
        probability_TE(logits_TE.size()),
        dlogits_TE(logits_TE.size()),
        weight_TK(tokens * per_token),
        dweight_TK(RandomFloats(tokens * per_token, 2)),
        expert_TK(static_cast<size_t>(tokens * per_token)) {}

  void Forward() {
    RouterForward({tokens, experts, per_token, false}, logits_TE.data(), probability_TE.data(), expert_TK.data(),
                  weight_TK.data());
  }

  void Backward() {
    RouterBackward({tokens, experts, per_token, false}, probability_TE.data(), expert_TK.data(), weight_TK.data(),
                   dweight_TK.data(), nullptr, dlogits_TE.data());
  }

  // Returns the bytes of two arrays over experts and two over the chosen ones: logits and probabilities, experts and
  // weights in the forward pass; probabilities and gradients, experts and gradients of weights in the backward pass.
  double Bytes() const { return 8.0 * static_cast<double>(tokens * (experts + per_token)); }

  int64_t tokens, experts, per_token;
  Array logits_TE, probability_TE, dlogits_TE, weight_TK, dweight_TK;
  std::vector<int32_t> expert_TK;
};

void BM_Router(::benchmark::State& state) {
  Routed routed(state);
  ReportBandwidth(
      state, routed.Bytes(), [&] { routed.Forward(); },
      benchmarks::RouterPeers(routed.tokens, routed.experts, routed.per_token));
}

void BM_RouterBackward(::benchmark::State& state) {
  Routed routed(state);
  routed.Forward();
  ReportBandwidth(
      state, routed.Bytes(), [&] { routed.Backward(); },
      benchmarks::RouterBackwardPeers(routed.tokens, routed.experts, routed.per_token));
}

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "experts", "top"})->UseManualTime()->MinTime(0.1);
  benchmark->Args({528, 8, 2})->Args({528, 16, 4})->Args({4096, 64, 8});
}

BENCHMARK(BM_Router)->Apply(Shapes);
BENCHMARK(BM_RouterBackward)->Apply(Shapes);

}  // namespace
}  // namespace reprise::kernels
