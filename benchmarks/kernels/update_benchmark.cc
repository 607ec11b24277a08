// Times the update of weights by gradients, except packing (products_benchmark's BM_StepAndPack): sums in fixed orders,
// AdamW, and what MuonGrokfast does with a matrix.
//   bazel run -c opt //benchmarks/kernels:update_benchmark

#include <algorithm>
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/array.h"
#include "benchmarks/kernels/rate.h"
#include "benchmarks/kernels/update_peers.h"
#include "kernels/optimizer/adamw.h"
#include "kernels/optimizer/muon.h"
#include "kernels/optimizer/orthogonalize.h"
#include "kernels/sums/sums.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::benchmarks::Array;
using ::reprise::benchmarks::ReportBandwidth;
using ::reprise::benchmarks::ReportRate;
using ::reprise::testing::RandomFloats;

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("n")->Arg(1 << 16)->Arg(1 << 24)->UseManualTime()->MinTime(0.2);
}

// The scalars of a step: a loss or a reward for each token or completion.
void BM_TreeSum(::benchmark::State& state) {
  const std::vector<float> floats = RandomFloats(state.range(0), 1);
  const std::vector<double> values(floats.begin(), floats.end());
  ReportBandwidth(
      state, 8.0 * static_cast<double>(values.size()), [&] { ::benchmark::DoNotOptimize(TreeSum(values)); },
      benchmarks::SumPeers(state.range(0)));
}
BENCHMARK(BM_TreeSum)->ArgName("n")->Arg(1 << 10)->Arg(1 << 16)->UseManualTime()->MinTime(0.2);

// The norm of a gradient: sums of squares of blocks, and the tree sum of these.
void BM_GlobalNorm(::benchmark::State& state) {
  const int64_t n = state.range(0);
  const Array gradient = RandomFloats(n, 1);
  std::vector<double> block_sums(static_cast<size_t>(SumBlocks(n)));
  const auto norm = [&] {
    SumOfSquaresByBlock(n, gradient.data(), block_sums.data());
    ::benchmark::DoNotOptimize(TreeSum(block_sums));
  };
  ReportBandwidth(state, 4.0 * static_cast<double>(n), norm, benchmarks::NormPeers(n));
}
BENCHMARK(BM_GlobalNorm)->Apply(Shapes);

// A node of the tree over shards: reads both gradients, writes one.
void BM_AddInto(::benchmark::State& state) {
  const int64_t n = state.range(0);
  const Array b = RandomFloats(n, 1);
  Array a = RandomFloats(n, 2);
  ReportBandwidth(
      state, 12.0 * static_cast<double>(n), [&] { AddInto(n, b.data(), a.data()); }, benchmarks::AddPeers(n));
}
BENCHMARK(BM_AddInto)->Apply(Shapes);

// Reads weights, gradient and two moments, writes weights and moments.
void BM_AdamW(::benchmark::State& state) {
  const int64_t n = state.range(0);
  const Array gradient = RandomFloats(n, 1);
  Array weights = RandomFloats(n, 2), first(n), second(n);
  const AdamWStep step = MakeAdamWStep(1e-4, 0.9, 0.999, 1e-8, 0, 1, 1);
  ReportBandwidth(
      state, 28.0 * static_cast<double>(n),
      [&] { AdamWUpdate(n, step, gradient.data(), weights.data(), first.data(), second.data()); },
      benchmarks::AdamWPeers(n));
}
BENCHMARK(BM_AdamW)->Apply(Shapes);

void Matrices(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "width"})->UseManualTime()->MinTime(0.2);
  benchmark->Args({64, 64})->Args({128, 128})->Args({256, 256})->Args({256, 1024})->Args({1024, 256});
}

// Orthogonalises a matrix in place. Each call begins with the result of the call before it: the time does not depend on
// the values.
void BM_NewtonSchulz(::benchmark::State& state) {
  constexpr int64_t kSteps = 5;
  const int64_t rows = state.range(0), width = state.range(1);
  const double r = static_cast<double>(std::min(rows, width)), c = static_cast<double>(std::max(rows, width));
  Array x = RandomFloats(rows * width, 1);
  ReportRate(
      state, kSteps * (2 * r * r * c + 2 * r * r * r + 2 * r * r * c),
      [&] { NewtonSchulz(kSteps, {x.data(), rows, width}); }, benchmarks::NewtonSchulzPeers(rows, width, kSteps));
}
BENCHMARK(BM_NewtonSchulz)->Apply(Matrices);

// The filter and the momentum before it, and the step after it: reads gradient, mean, momentum and weights, writes the
// last three, and writes and reads the direction between.
void BM_MuonArrays(::benchmark::State& state) {
  const int64_t n = state.range(0);
  const Array gradient = RandomFloats(n, 1);
  Array weights = RandomFloats(n, 2), mean(n), momentum(n), direction(n);
  const GrokfastFilter filter = MakeGrokfastFilter(0.98, 2, true, false, 2, 1);
  ReportBandwidth(state, 28.0 * static_cast<double>(n), [&] {
    FilterGradient(n, filter, gradient.data(), mean.data(), direction.data());
    AddMomentum(n, 0.95f, true, direction.data(), momentum.data(), direction.data());
    TakeStep(n, 1e-6f, 1.0f, direction.data(), weights.data());
  });
}
BENCHMARK(BM_MuonArrays)->Apply(Shapes);

}  // namespace
}  // namespace reprise::kernels
