// Times the embedding of tokens, which gathers rows, and the gradient of the table, which adds rows.
//   bazel run -c opt //benchmarks/kernels:tokens_benchmark -- --benchmark_filter=Embed

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/array.h"
#include "benchmarks/kernels/rate.h"
#include "benchmarks/kernels/token_peers.h"
#include "kernels/embedding/embedding.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::benchmarks::Array;
using ::reprise::benchmarks::ReportBandwidth;
using ::reprise::testing::RandomBelow;
using ::reprise::testing::RandomFloats;

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "D", "V"})->UseManualTime()->MinTime(0.1);
  benchmark->Args({528, 64, 128})->Args({528, 256, 512})->Args({4096, 2048, 50304});
}

std::vector<int32_t> RandomTokens(int64_t tokens, int64_t vocabulary) {
  std::vector<int32_t> token_T;
  for (int64_t t = 0; t < tokens; ++t) {
    token_T.push_back(static_cast<int32_t>(RandomBelow(vocabulary, 1, static_cast<uint64_t>(t))));
  }
  return token_T;
}

// Reads a row of the table and writes it for each token.
void BM_Embed(::benchmark::State& state) {
  const int64_t tokens = state.range(0), width = state.range(1), vocabulary = state.range(2);
  const std::vector<int32_t> token_T = RandomTokens(tokens, vocabulary);
  const Array table(vocabulary * width);
  Array y(tokens * width);
  ReportBandwidth(
      state, 8.0 * static_cast<double>(tokens * width),
      [&] { Embed(token_T.data(), table.data(), {y.data(), tokens, width}); },
      benchmarks::EmbedPeers(token_T, width, vocabulary));
}
BENCHMARK(BM_Embed)->Apply(Shapes);

// Reads a row and its gradient's sum so far, and writes the sum.
void BM_EmbedBackward(::benchmark::State& state) {
  const int64_t tokens = state.range(0), width = state.range(1), vocabulary = state.range(2);
  const std::vector<int32_t> token_T = RandomTokens(tokens, vocabulary);
  const Array dy = RandomFloats(tokens * width, 2);
  Array gradient(vocabulary * width);
  ReportBandwidth(
      state, 12.0 * static_cast<double>(tokens * width),
      [&] { EmbedBackward(token_T.data(), {dy.data(), tokens, width}, -1, gradient.data()); },
      benchmarks::EmbedBackwardPeers(token_T, width, vocabulary));
}
BENCHMARK(BM_EmbedBackward)->Apply(Shapes);

}  // namespace
}  // namespace reprise::kernels
