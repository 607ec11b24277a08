// Products of one thread: forward, input gradient and weight gradient.
//   bazel run -c opt //benchmarks/kernels:products_benchmark

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/peers.h"
#include "benchmarks/kernels/rate.h"
#include "kernels/products/products.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::RandomFloats;

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "N", "K"})->UseManualTime()->MinTime(0.2);
  benchmark->Args({8, 64, 64})->Args({64, 64, 64})->Args({512, 64, 64});
  benchmark->Args({1, 256, 256})->Args({8, 256, 256})->Args({64, 256, 256})->Args({512, 256, 256});
  benchmark->Args({1, 2048, 2048})->Args({4, 2048, 2048})->Args({64, 2048, 2048})->Args({512, 2048, 2048});
  benchmark->Args({528, 16, 256})
      ->Args({528, 512, 256})
      ->Args({528, 768, 256})
      ->Args({132, 512, 256})
      ->Args({16, 512, 256});
  benchmark->Args({4096, 256, 256})->Args({512, 1024, 1024});
}

double Operations(const ::benchmark::State& state) {
  return 2.0 * static_cast<double>(state.range(0)) * static_cast<double>(state.range(1) * state.range(2));
}

void BM_Forward(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1), k = state.range(2);
  const std::vector<float> x = RandomFloats(rows * k, 1), w = RandomFloats(n * k, 2);
  std::vector<float> packed(PackedSize(n, k)), y(rows * n);
  PackForward(w.data(), n, k, packed.data(), 0, Panels(n));
  benchmarks::ReportRate(
      state, Operations(state), [&] { Product(rows, n, k, x.data(), k, packed.data(), y.data(), n); },
      benchmarks::ForwardPeers(rows, n, k));
}
BENCHMARK(BM_Forward)->Apply(Shapes);
// The language-model head of a decoder: its weights come from memory.
BENCHMARK(BM_Forward)
    ->Args({1, 50304, 2048})
    ->Args({8, 50304, 2048})
    ->Args({16, 50304, 2048})
    ->UseManualTime()
    ->MinTime(0.3);

void BM_InputGradient(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1), k = state.range(2);
  const std::vector<float> dy = RandomFloats(rows * n, 1), w = RandomFloats(n * k, 2);
  std::vector<float> packed(PackedSize(k, n)), dx(rows * k);
  PackTransposed(w.data(), n, k, packed.data(), 0, Panels(k));
  benchmarks::ReportRate(
      state, Operations(state), [&] { Product(rows, k, n, dy.data(), n, packed.data(), dx.data(), k); },
      benchmarks::InputGradientPeers(rows, n, k));
}
BENCHMARK(BM_InputGradient)->Apply(Shapes);

void BM_WeightGradient(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1), k = state.range(2);
  const std::vector<float> dy = RandomFloats(rows * n, 1), x = RandomFloats(rows * k, 2);
  std::vector<float> dw(n * k);
  benchmarks::ReportRate(
      state, Operations(state),
      [&] { AccumulateWeightGradient(rows, n, k, dy.data(), n, x.data(), k, 0, true, dw.data(), nullptr); },
      benchmarks::WeightGradientPeers(rows, n, k));
}
BENCHMARK(BM_WeightGradient)->Apply(Shapes);

void BM_PackForward(::benchmark::State& state) {
  const int64_t n = state.range(0), k = state.range(1);
  const std::vector<float> w = RandomFloats(n * k, 1);
  std::vector<float> packed(PackedSize(n, k));
  for (auto _ : state) PackForward(w.data(), n, k, packed.data(), 0, Panels(n));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * n * k * 4);
}
BENCHMARK(BM_PackForward)->Args({64, 64})->Args({256, 256})->Args({2048, 2048});

}  // namespace
}  // namespace reprise::kernels
