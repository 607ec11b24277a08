// Times matrix products on one thread: forward, input gradient and weight gradient.
//   bazel run -c opt //benchmarks/kernels:products_benchmark

#include <algorithm>
#include <cstdint>

#include "absl/algorithm/container.h"
#include "benchmark/benchmark.h"
#include "benchmarks/kernels/peers.h"
#include "benchmarks/kernels/rate.h"
#include "core/tensor/tensor.h"
#include "kernels/optimizer/adamw.h"
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
  benchmark->Args({4096, 256, 256})->Args({512, 1024, 1024})->Args({4096, 1024, 1024})->Args({4096, 2048, 2048});
}

// Returns floats in memory allocated as in production: large tensors are on huge pages.
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
      state, Operations(state), [&] { Product({In(x), rows, k}, In(packed), {Out(y), rows, n}); },
      benchmarks::ForwardPeers(rows, n, k));
}
BENCHMARK(BM_Forward)->Apply(Shapes);
// The language-model head of a decoder, whose weights come from memory.
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
      state, Operations(state), [&] { Product({In(dy), rows, n}, In(packed), {Out(dx), rows, k}); },
      benchmarks::InputGradientPeers(rows, n, k));
}
BENCHMARK(BM_InputGradient)->Apply(Shapes);

void BM_WeightGradient(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1), k = state.range(2);
  const Tensor dy = Random(rows * n, 1), x = Random(rows * k, 2);
  Tensor dw = Floats(n * k);
  benchmarks::ReportRate(
      state, Operations(state),
      [&] { AccumulateWeightGradient({In(dy), rows, n}, {In(x), rows, k}, {Out(dw), nullptr, 0, true}); },
      benchmarks::WeightGradientPeers(rows, n, k));
}
BENCHMARK(BM_WeightGradient)->Apply(Shapes);

// Times the work after a gradient on one rank: AdamW and packing, block by block, over so many matrices that no cache
// holds them. The minimum to be moved is 36 bytes per weight; the peer makes a separate pass over memory for each part.
void BM_StepAndPack(::benchmark::State& state) {
  const int64_t n = state.range(0), k = state.range(1), size = n * k;
  const int64_t matrices = std::max<int64_t>(1, (int64_t{1} << 24) / size), total = matrices * size;
  const int64_t block = std::max<int64_t>(1, (int64_t{1} << 15) / k / kPanel) * kPanel;
  Tensor weights = Random(total, 1), first = Floats(total), second = Floats(total);
  Tensor packed = Floats(total), transposed = Floats(total);
  const Tensor gradient = Random(total, 2);
  const AdamWStep step = MakeAdamWStep(1e-3, 0.9, 0.999, 1e-8, 0.0, 1, 1.0);
  const auto update = [&](int64_t begin, int64_t count) {
    AdamWUpdate(count, step, In(gradient) + begin, Out(weights) + begin, Out(first) + begin, Out(second) + begin);
  };
  const auto together = [&] {
    for (int64_t m = 0; m < total; m += size) {
      for (int64_t row = 0; row < n; row += block) {
        const int64_t rows = std::min(block, n - row);
        update(m + row * k, rows * k);
        PackRows(In(weights) + m + row * k, rows, k, row, n, Out(packed) + m, Out(transposed) + m, true);
      }
    }
  };
  const auto apart = [&] {
    update(0, total);
    for (int64_t m = 0; m < total; m += size) PackForward(In(weights) + m, n, k, Out(packed) + m, 0, Panels(n));
    for (int64_t m = 0; m < total; m += size) PackTransposed(In(weights) + m, n, k, Out(transposed) + m, 0, Panels(k));
  };
  benchmarks::ReportBandwidth(state, 36.0 * static_cast<double>(total), together, {{"apart", apart}});
}
BENCHMARK(BM_StepAndPack)->ArgNames({"N", "K"})->Args({256, 256})->Args({1024, 2048})->UseManualTime()->MinTime(0.2);

}  // namespace
}  // namespace reprise::kernels
