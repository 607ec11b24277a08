// Products of one thread: forward, input gradient and weight gradient.
//   bazel run -c opt //benchmarks/kernels:products_benchmark

#include <cstdint>

#include "absl/algorithm/container.h"
#include "benchmark/benchmark.h"
#include "benchmarks/kernels/peers.h"
#include "benchmarks/kernels/rate.h"
#include "core/tensor/tensor.h"
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

// In memory as the product's: large tensors are on huge pages.
Tensor Floats(int64_t size) { return Tensor("", DType::kF32, {size}); }
Tensor Random(int64_t size, uint64_t seed) {
  Tensor floats = Floats(size);
  absl::c_copy(RandomFloats(size, seed), floats.mutable_data<float>().begin());
  return floats;
}
const float* In(const Tensor& tensor) { return tensor.data<float>().data(); }
float* Out(Tensor& tensor) { return tensor.mutable_data<float>().data(); }

double Operations(const ::benchmark::State& state) {
  return 2.0 * static_cast<double>(state.range(0)) * static_cast<double>(state.range(1) * state.range(2));
}

void BM_Forward(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1), k = state.range(2);
  const Tensor x = Random(rows * k, 1), w = Random(n * k, 2);
  Tensor packed = Floats(PackedSize(n, k)), y = Floats(rows * n);
  PackForward(In(w), n, k, Out(packed), 0, Panels(n));
  benchmarks::ReportRate(
      state, Operations(state), [&] { Product(rows, n, k, In(x), k, In(packed), Out(y), n); },
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
  const Tensor dy = Random(rows * n, 1), w = Random(n * k, 2);
  Tensor packed = Floats(PackedSize(k, n)), dx = Floats(rows * k);
  PackTransposed(In(w), n, k, Out(packed), 0, Panels(k));
  benchmarks::ReportRate(
      state, Operations(state), [&] { Product(rows, k, n, In(dy), n, In(packed), Out(dx), k); },
      benchmarks::InputGradientPeers(rows, n, k));
}
BENCHMARK(BM_InputGradient)->Apply(Shapes);

void BM_WeightGradient(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1), k = state.range(2);
  const Tensor dy = Random(rows * n, 1), x = Random(rows * k, 2);
  Tensor dw = Floats(n * k);
  benchmarks::ReportRate(
      state, Operations(state),
      [&] { AccumulateWeightGradient(rows, n, k, In(dy), n, In(x), k, 0, true, Out(dw), nullptr); },
      benchmarks::WeightGradientPeers(rows, n, k));
}
BENCHMARK(BM_WeightGradient)->Apply(Shapes);

void BM_PackForward(::benchmark::State& state) {
  const int64_t n = state.range(0), k = state.range(1);
  const Tensor w = Random(n * k, 1);
  Tensor packed = Floats(PackedSize(n, k));
  for (auto _ : state) PackForward(In(w), n, k, Out(packed), 0, Panels(n));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * n * k * 4);
}
BENCHMARK(BM_PackForward)->Args({64, 64})->Args({256, 256})->Args({2048, 2048});

}  // namespace
}  // namespace reprise::kernels
