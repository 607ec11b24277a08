// Times attention of one layer's heads. Counts the operations that the causal mask leaves (two products forward, five
// backward).
//   bazel run -c opt //benchmarks/kernels:attention_benchmark

#include <algorithm>
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/peers.h"
#include "benchmarks/kernels/rate.h"
#include "kernels/attention/attention.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::benchmarks::ReportRate;
using ::reprise::testing::RandomFloats;

// A causal sequence of T tokens in all heads of a layer. The heads' rows are interleaved as in the decoder; keys and
// values are stored as in its cache, contiguous for each head.
struct Sequence {
  static constexpr int64_t kHeads = 8;

  Sequence(int64_t T, int64_t D)
      : T(T), D(D), stride(kHeads * D), q(RandomFloats(T * stride, 1)), k(q), v(q), dout(q), out(T * stride) {
    for (auto* panels : {&k_panels, &v_panels}) panels->resize(kHeads * KeyPanelFloats(T, D));
    values.resize(kHeads * T * D);
    Pack(k, &k_panels);
    Pack(v, &v_panels);
    CopyValues();
    statistics.resize(kHeads * 2 * T);
    dq = dk = dv = out;
    scratch.resize(AttentionScratch(T, 0, T, D) + AttentionBackwardScratch(T, 0, D));
  }

  void Pack(const std::vector<float>& rows, std::vector<float>* panels) const {
    for (int64_t h = 0; h < kHeads; ++h) {
      PackKeys(0, {rows.data() + h * D, T, D, stride}, panels->data() + h * KeyPanelFloats(T, D));
    }
  }

  void CopyValues() {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t t = 0; t < T; ++t) std::copy_n(&v[t * stride + h * D], D, &values[(h * T + t) * D]);
    }
  }

  HeadContext Context(int64_t h) const {
    const int64_t panels = h * KeyPanelFloats(T, D);
    return {.own = {{values.data() + h * T * D, T, D},
                    k_panels.data() + panels,
                    {k.data() + h * D, T, D, stride},
                    v_panels.data() + panels},
            .scale = 0.125f};
  }

  ConstRows Head(const std::vector<float>& rows, int64_t h) const { return {rows.data() + h * D, T, D, stride}; }
  Rows Head(std::vector<float>& rows, int64_t h) const { return {rows.data() + h * D, T, D, stride}; }

  // Computes the last `queries` positions.
  void Forward(int64_t queries) {
    const int64_t first = T - queries;
    for (int64_t h = 0; h < kHeads; ++h) {
      AttentionForward(Head(q, h).Slice({first, T}), first, Context(h), Head(out, h).Slice({first, T}),
                       statistics.data() + 2 * (h * T + first), scratch.data());
    }
  }

  void Backward() {
    for (int64_t h = 0; h < kHeads; ++h) {
      AttentionBackward(Head(q, h), Context(h), statistics.data() + 2 * h * T, Head(dout, h), Head(dq, h),
                        {Head(dk, h), Head(dv, h)}, {}, scratch.data());
    }
  }

  std::vector<benchmarks::Peer> Peers(int64_t queries, bool backward) const {
    return benchmarks::AttentionPeers(kHeads, queries, T, D, backward);
  }

  // Returns the number of pairs of a query and a key that it attends to, in all heads, times the width.
  double Pairs() const { return static_cast<double>(kHeads * D * T * (T + 1) / 2); }

  int64_t T, D, stride;
  std::vector<float> q, k, v, values, dout, out, statistics, dq, dk, dv, k_panels, v_panels, scratch;
};

void BM_AttentionForward(::benchmark::State& state) {  // including storing its keys and values in the cache
  Sequence sequence(state.range(0), state.range(1));
  const auto forward = [&] {
    sequence.Pack(sequence.k, &sequence.k_panels);
    sequence.CopyValues();
    sequence.Forward(sequence.T);
  };
  ReportRate(state, 4.0 * sequence.Pairs(), forward, sequence.Peers(sequence.T, false));
}

void BM_AttentionBackward(::benchmark::State& state) {
  Sequence sequence(state.range(0), state.range(1));
  sequence.Forward(sequence.T);
  ReportRate(state, 10.0 * sequence.Pairs(), [&] { sequence.Backward(); }, sequence.Peers(sequence.T, true));
}

void BM_AttentionDecode(::benchmark::State& state) {  // the last token; its predecessors' keys are packed
  Sequence sequence(state.range(0), state.range(1));
  ReportRate(
      state, 4.0 * static_cast<double>(sequence.stride * sequence.T), [&] { sequence.Forward(1); },
      sequence.Peers(1, false));
}

// Reads keys and values of all heads and writes them.
void BM_PackKeys(::benchmark::State& state) {
  Sequence sequence(state.range(0), state.range(1));
  const auto bytes = static_cast<double>(2 * 2 * 4 * sequence.T * sequence.stride);
  benchmarks::ReportBandwidth(state, bytes, [&] {
    sequence.Pack(sequence.k, &sequence.k_panels);
    sequence.Pack(sequence.v, &sequence.v_panels);
  });
}

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"T", "D"})->Args({80, 16})->Args({80, 32})->Args({128, 64})->Args({1024, 64});
}

void Timed(::benchmark::internal::Benchmark* benchmark) { benchmark->UseManualTime()->MinTime(0.2); }

BENCHMARK(BM_AttentionForward)->Apply(Shapes)->Apply(Timed);
BENCHMARK(BM_AttentionBackward)->Apply(Shapes)->Apply(Timed);
BENCHMARK(BM_AttentionDecode)->Apply(Shapes)->Apply(Timed);
BENCHMARK(BM_PackKeys)->Apply(Shapes)->Apply(Timed);

}  // namespace
}  // namespace reprise::kernels
