// Products beside LibTorch's, which may sum in any order, on one thread and in turn. Our weights are packed before, as
// a step packs them once for all its rows.
//   bazel run -c opt //benchmarks/peers:libtorch_benchmark

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/from_blob.h"
#include "ATen/ops/mm.h"
#include "benchmark/benchmark.h"
#include "kernels/isa/isa.h"
#include "kernels/products/products.h"

namespace reprise::benchmarks {
namespace {

// Seconds of one call, of `calls` that follow each other.
template <typename Body>
double SecondsACall(int calls, const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) body();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return seconds.count() / calls;
}

std::vector<float> Numbers(int64_t size) {
  std::vector<float> numbers(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) numbers[i] = static_cast<float>(i * 7919 % 1009) / 1009.0f - 0.5f;
  return numbers;
}

void BM_ProductBesideLibtorch(::benchmark::State& state) {
  if (const absl::Status status = kernels::InitializeIsa(); !status.ok()) {
    state.SkipWithError(status.ToString().c_str());
    return;
  }
  at::set_num_threads(1);
  const int64_t rows = state.range(0), n = state.range(1), k = state.range(2);
  std::vector<float> x = Numbers(rows * k), w = Numbers(n * k), packed(kernels::PackedSize(n, k)), y(rows * n);
  kernels::PackForward(w.data(), n, k, packed.data(), 0, kernels::Panels(n));
  const at::Tensor x_MK = at::from_blob(x.data(), {rows, k}), w_KN = at::from_blob(w.data(), {n, k}).t();
  at::Tensor y_MN = at::empty({rows, n});
  const auto ours = [&] { kernels::Product(rows, n, k, x.data(), k, packed.data(), y.data(), n); };
  const auto theirs = [&] { at::mm_out(y_MN, x_MK, w_KN); };
  const int calls = static_cast<int>(std::clamp<int64_t>(100'000'000 / (rows * n * k), 1, 1000));
  double best_ours = std::numeric_limits<double>::infinity(), best_theirs = best_ours;
  for (auto _ : state) {
    best_theirs = std::min(best_theirs, SecondsACall(calls, theirs));
    const double seconds = SecondsACall(calls, ours);
    best_ours = std::min(best_ours, seconds);
    state.SetIterationTime(seconds * calls);
  }
  state.counters["us"] = 1e6 * best_ours;
  state.counters["libtorch_us"] = 1e6 * best_theirs;
  state.counters["of_libtorch"] = best_ours / best_theirs;
}
BENCHMARK(BM_ProductBesideLibtorch)
    ->UseManualTime()
    ->MinTime(0.2)
    ->ArgNames({"rows", "N", "K"})
    ->Args({64, 256, 256})
    ->Args({512, 256, 256})
    ->Args({512, 2048, 2048});

}  // namespace
}  // namespace reprise::benchmarks
