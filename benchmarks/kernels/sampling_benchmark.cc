// Times sampling a token of each row of logits, with its log-probability and the row's entropy.
//   bazel run -c opt //benchmarks/kernels:tokens_benchmark -- --benchmark_filter=Sample

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/array.h"
#include "benchmarks/kernels/rate.h"
#include "benchmarks/kernels/token_peers.h"
#include "kernels/sampling/sampling.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

// Counts reading the logits. At temperature 1 sampling does not change them, so every call draws from the same.
void Measure(::benchmark::State& state, const SamplingOptions& options, const std::vector<benchmarks::Peer>& peers) {
  const int64_t rows = state.range(0), vocabulary = state.range(1);
  benchmarks::Array logits = testing::RandomNormals(rows * vocabulary, 1, 3.0f);
  const std::vector<float> uniform = testing::RandomFloats(rows, 2, 0.0f, 1.0f);
  SamplingWorkspace workspace;
  benchmarks::ReportBandwidth(
      state, 4.0 * static_cast<double>(logits.size()),
      [&] {
        for (int64_t r = 0; r < rows; ++r) {
          ::benchmark::DoNotOptimize(
              SampleToken(vocabulary, logits.data() + r * vocabulary, options, uniform[r], &workspace));
        }
      },
      peers);
}

void BM_Sample(::benchmark::State& state) {
  Measure(state, {}, benchmarks::SamplingPeers(state.range(0), state.range(1), 0));
}

void BM_SampleTopK(::benchmark::State& state) {
  Measure(state, {.top_k = 50}, benchmarks::SamplingPeers(state.range(0), state.range(1), 50));
}

void BM_SampleTopP(::benchmark::State& state) { Measure(state, {.top_p = 0.9f}, {}); }

void BM_SampleGreedy(::benchmark::State& state) {
  Measure(state, {.greedy = true}, benchmarks::ArgmaxPeers(state.range(0), state.range(1)));
}

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "V"})->UseManualTime()->MinTime(0.1);
  benchmark->Args({64, 128})->Args({64, 512})->Args({1, 50304})->Args({64, 50304});
}

BENCHMARK(BM_Sample)->Apply(Shapes);
BENCHMARK(BM_SampleTopK)->Apply(Shapes);
BENCHMARK(BM_SampleTopP)->Apply(Shapes);
BENCHMARK(BM_SampleGreedy)->Apply(Shapes);

}  // namespace
}  // namespace reprise::kernels
