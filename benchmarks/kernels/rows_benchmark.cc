// Times row functions on one thread, compared with ATen's.
//   bazel run -c opt //benchmarks/kernels:rows_benchmark

#include <cstdint>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/array.h"
#include "benchmarks/kernels/rate.h"
#include "benchmarks/kernels/row_peers.h"
#include "kernels/rows/mean_rows.h"
#include "kernels/rows/rms_norm.h"
#include "kernels/rows/silu_gate.h"
#include "kernels/testing/kernel_testing.h"
#include "kernels/testing/softmax.h"

namespace reprise::kernels {
namespace {

using ::reprise::benchmarks::Array;
using ::reprise::benchmarks::ReportBandwidth;
using ::reprise::testing::RandomFloats;

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "n"})->UseManualTime()->MinTime(0.1);
  benchmark->Args({4096, 16})->Args({4096, 64})->Args({64, 2048})->Args({1024, 256})->Args({4096, 2048});
}

double Bytes(const ::benchmark::State& state, int arrays) {
  return 4.0 * arrays * static_cast<double>(state.range(0) * state.range(1));
}

void BM_Softmax(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1);
  const Array x = RandomFloats(rows * n, 1);
  Array y(x.size());
  ReportBandwidth(
      state, Bytes(state, 2), [&] { Softmax({x.data(), rows, n}, {y.data(), rows, n}); },
      benchmarks::SoftmaxPeers(rows, n));
}
BENCHMARK(BM_Softmax)->Apply(Shapes);

void BM_RmsNorm(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1);
  const Array x = RandomFloats(rows * n, 1), gain = RandomFloats(n, 2);
  Array y(x.size()), inverse_rms(rows);
  ReportBandwidth(
      state, Bytes(state, 2),
      [&] { RmsNorm({x.data(), rows, n}, gain.data(), 1e-5f, {y.data(), rows, n}, inverse_rms.data()); },
      benchmarks::RmsNormPeers(rows, n));
}
BENCHMARK(BM_RmsNorm)->Apply(Shapes);

// Reads inputs and gradients once for both results.
void BM_RmsNormBackward(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1);
  const Array x = RandomFloats(rows * n, 1), dy = RandomFloats(rows * n, 2), gain = RandomFloats(n, 3);
  const Array inverse_rms = RandomFloats(rows, 4, 0.5f, 2.0f);
  Array dx(x.size()), dgain(gain.size());
  ReportBandwidth(
      state, Bytes(state, 3),
      [&] {
        RmsNormBackward({x.data(), rows, n}, gain.data(), inverse_rms.data(), {dy.data(), rows, n}, false,
                        {dx.data(), rows, n}, {dgain.data(), nullptr, 0, true});
      },
      benchmarks::RmsNormBackwardPeers(rows, n));
}
BENCHMARK(BM_RmsNormBackward)->Apply(Shapes);

void BM_SiluGate(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1);
  const Array floats = RandomFloats(rows * 2 * n, 1);
  const ConstRows gate_up = {floats.data(), rows, 2 * n};
  Array y(rows * n);
  ReportBandwidth(
      state, Bytes(state, 3), [&] { SiluGate(gate_up.Columns(0, n), gate_up.Columns(n, n), {y.data(), rows, n}); },
      benchmarks::SiluGatePeers(rows, n));
}
BENCHMARK(BM_SiluGate)->Apply(Shapes);

void BM_SiluGateBackward(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1);
  const Array floats = RandomFloats(rows * 2 * n, 1), dy = RandomFloats(rows * n, 2);
  const ConstRows gate_up = {floats.data(), rows, 2 * n};
  Array d_floats(rows * 2 * n);
  const Rows d = {d_floats.data(), rows, 2 * n};
  ReportBandwidth(
      state, Bytes(state, 5),
      [&] {
        SiluGateBackward(gate_up.Columns(0, n), gate_up.Columns(n, n), {dy.data(), rows, n}, d.Columns(0, n),
                         d.Columns(n, n));
      },
      benchmarks::SiluGateBackwardPeers(rows, n));
}
BENCHMARK(BM_SiluGateBackward)->Apply(Shapes);

void BM_MeanOfRows(::benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1);
  const Array x = RandomFloats(rows * n, 1);
  Array y(n);
  ReportBandwidth(
      state, Bytes(state, 1), [&] { MeanOfRows({x.data(), rows, n}, y.data()); }, benchmarks::MeanOfRowsPeers(rows, n));
}
BENCHMARK(BM_MeanOfRows)->Apply(Shapes);

}  // namespace
}  // namespace reprise::kernels
