// Times rotary position embedding, in place. ATen has no operator for it.
//   bazel run -c opt //benchmarks/kernels:tokens_benchmark -- --benchmark_filter=Rotate

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/array.h"
#include "benchmarks/kernels/rate.h"
#include "kernels/rotary/rotary.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

// Reads and writes a row of heads for each token.
template <typename Rotation>
void Measure(::benchmark::State& state, Rotation rotation) {
  const int64_t tokens = state.range(0), heads = state.range(1), head_width = state.range(2);
  const RotaryTable table = MakeRotaryTable(tokens, head_width, 10000.0);
  std::vector<int32_t> position_T;
  for (int64_t t = 0; t < tokens; ++t) position_T.push_back(static_cast<int32_t>(t));
  const int64_t width = heads * head_width;
  benchmarks::Array x = testing::RandomFloats(tokens * width, 1);
  benchmarks::ReportBandwidth(state, 8.0 * static_cast<double>(x.size()),
                              [&] { rotation(table, position_T.data(), {x.data(), tokens, width}); });
}

void BM_Rotate(::benchmark::State& state) { Measure(state, Rotate); }
void BM_RotateBackward(::benchmark::State& state) { Measure(state, RotateBackward); }

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "heads", "D"})->UseManualTime()->MinTime(0.1);
  benchmark->Args({528, 4, 16})->Args({528, 8, 32})->Args({4096, 16, 128});
}

BENCHMARK(BM_Rotate)->Apply(Shapes);
BENCHMARK(BM_RotateBackward)->Apply(Shapes);

}  // namespace
}  // namespace reprise::kernels
