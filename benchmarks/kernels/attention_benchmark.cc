// Attention of one head, counting the operations that the causal mask leaves (two products forward, five backward).
//   bazel run -c opt //benchmarks/kernels:attention_benchmark

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

// A sequence of T queries of which the first fifth is passed as the shared prefix; heads lie beside each other in rows
// of 8 heads, as in the decoder.
struct Sequence {
  Sequence(int64_t T, int64_t D)
      : T(T), D(D), P(T / 5), stride(8 * D), q(RandomFloats(T * stride, 1)), k(q), v(q), dout(q), out(T * stride) {
    for (auto* panels : {&k_prefix, &v_prefix}) {
      panels->resize(KeyPanelFloats(P, D));
      PackKeys(0, P, D, k.data(), stride, panels->data());
    }
    for (auto* panels : {&k_own, &v_own}) {
      panels->resize(KeyPanelFloats(T - P, D));
      PackKeys(0, T - P, D, k.data() + P * stride, stride, panels->data());
    }
    prefix = {P, k_prefix.data(), v.data(), stride, k.data(), stride, v_prefix.data()};
    own = {T - P, k_own.data(), v.data() + P * stride, stride, k.data() + P * stride, stride, v_own.data()};
    statistics.resize(2 * T);
    dq = dk = dv = out;
    scratch.resize(AttentionScratch(T, P, T - P, D) + AttentionBackwardScratch(T - P, P, D));
  }

  void Forward(int64_t first, int64_t queries) {
    AttentionForward(queries, first, D, 0.125f, q.data() + (P + first) * stride, stride, prefix, own,
                     out.data() + (P + first) * stride, stride, statistics.data() + 2 * first, scratch.data());
  }

  void Backward() {
    AttentionBackward(T - P, D, 0.125f, q.data() + P * stride, stride, prefix, own, statistics.data(),
                      dout.data() + P * stride, stride, dq.data() + P * stride, stride, dk.data() + P * stride,
                      dv.data() + P * stride, dk.data(), dv.data(), stride, scratch.data());
  }

  std::vector<benchmarks::Peer> Peers(int64_t queries, bool backward) const {
    return benchmarks::AttentionPeers(queries, T, D, backward);
  }

  double Pairs() const {  // of a query and a key that it sees
    const double n = static_cast<double>(T - P);
    return n * static_cast<double>(P) + n * (n + 1) / 2;
  }

  int64_t T, D, P, stride;
  std::vector<float> q, k, v, dout, out, statistics, dq, dk, dv, k_prefix, v_prefix, k_own, v_own, scratch;
  HeadKeys prefix, own;
};

void BM_AttentionForward(::benchmark::State& state) {
  Sequence sequence(state.range(0), state.range(1));
  ReportRate(
      state, 4.0 * sequence.Pairs() * static_cast<double>(sequence.D),
      [&] { sequence.Forward(0, sequence.T - sequence.P); }, sequence.Peers(sequence.T - sequence.P, false));
}

void BM_AttentionBackward(::benchmark::State& state) {
  Sequence sequence(state.range(0), state.range(1));
  sequence.Forward(0, sequence.T - sequence.P);
  ReportRate(
      state, 10.0 * sequence.Pairs() * static_cast<double>(sequence.D), [&] { sequence.Backward(); },
      sequence.Peers(sequence.T - sequence.P, true));
}

void BM_AttentionDecode(::benchmark::State& state) {  // the last token
  Sequence sequence(state.range(0), state.range(1));
  ReportRate(
      state, 4.0 * static_cast<double>(sequence.T * sequence.D),
      [&] { sequence.Forward(sequence.T - sequence.P - 1, 1); }, sequence.Peers(1, false));
}

void BM_PackKeys(::benchmark::State& state) {
  Sequence sequence(state.range(0), state.range(1));
  std::vector<float> panels(KeyPanelFloats(sequence.T, sequence.D));
  for (auto _ : state) {
    PackKeys(0, sequence.T, sequence.D, sequence.k.data(), sequence.stride, panels.data());
    ::benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * sequence.T * sequence.D * 4);
}

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"T", "D"})->Args({80, 16})->Args({80, 32})->Args({128, 64})->Args({1024, 64});
}

void Timed(::benchmark::internal::Benchmark* benchmark) { benchmark->UseManualTime()->MinTime(0.2); }

BENCHMARK(BM_AttentionForward)->Apply(Shapes)->Apply(Timed);
BENCHMARK(BM_AttentionBackward)->Apply(Shapes)->Apply(Timed);
BENCHMARK(BM_AttentionDecode)->Apply(Shapes)->Apply(Timed);
BENCHMARK(BM_PackKeys)->Apply(Shapes);

}  // namespace
}  // namespace reprise::kernels
