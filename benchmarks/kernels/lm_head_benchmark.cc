// Times the language-model head: one product forward, three backward (the logits are recomputed).
//   bazel run -c opt //benchmarks/kernels:attention_benchmark

#include <algorithm>
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/rate.h"
#include "kernels/lm_head/lm_head.h"
#include "kernels/products/products.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::benchmarks::ReportRate;
using ::reprise::benchmarks::ReportRoofline;
using ::reprise::testing::RandomFloats;

struct Head {
  Head(int64_t rows, int64_t width, int64_t vocabulary)
      : rows(rows),
        width(width),
        vocabulary(vocabulary),
        hidden(RandomFloats(rows * width, 1)),
        w_packed(PackedSize(vocabulary, width)),
        w_transposed(PackedSize(width, vocabulary)),
        logprob(rows),
        dlogprob(RandomFloats(rows, 3)),
        dhidden(rows * width),
        dw(vocabulary * width),
        statistics(rows),
        scratch(std::max(LmHeadScratch(rows, vocabulary), LmHeadBackwardScratch(rows, width, vocabulary))) {
    const std::vector<float> w = RandomFloats(vocabulary * width, 2);
    PackForward(w.data(), vocabulary, width, w_packed.data(), 0, Panels(vocabulary));
    PackTransposed(w.data(), vocabulary, width, w_transposed.data(), 0, Panels(width));
    for (int64_t r = 0; r <= rows; ++r) first_target.push_back(r);
    for (int64_t r = 0; r < rows; ++r) target.push_back(static_cast<int32_t>(r * 7 % vocabulary));
  }

  LmHeadOperands Operands() const {
    return {{hidden.data(), rows, width},         vocabulary,         w_packed.data(), 0.7f,
            {first_target.data(), target.data()}, w_transposed.data()};
  }

  void Forward() { LmHeadForward(Operands(), logprob.data(), statistics.data(), scratch.data()); }

  void Backward() {
    LmHeadBackward(Operands(), statistics.data(), {.dlogprob = dlogprob.data()}, {dhidden.data(), rows, width},
                   {dw.data(), nullptr, 0, true}, scratch.data());
  }

  double Product() const { return 2.0 * static_cast<double>(rows * width * vocabulary); }

  int64_t rows, width, vocabulary;
  std::vector<float> hidden, w_packed, w_transposed, logprob, dlogprob, dhidden, dw;
  std::vector<RowStatistics> statistics;
  std::vector<float> scratch;
  std::vector<int64_t> first_target;
  std::vector<int32_t> target;
};

void BM_LmHeadForward(::benchmark::State& state) {
  Head head(state.range(0), state.range(1), state.range(2));
  ReportRate(state, head.Product(), [&] { head.Forward(); });
}

void BM_LmHeadBackward(::benchmark::State& state) {
  Head head(state.range(0), state.range(1), state.range(2));
  head.Forward();
  ReportRate(state, 3 * head.Product(), [&] { head.Backward(); });
}

// Times the logits of decoding: few rows, and weights that exceed every cache.
template <typename Element>
void BM_LmHeadDecode(::benchmark::State& state) {
  const int64_t rows = state.range(0), width = state.range(1), vocabulary = state.range(2);
  const std::vector<float> hidden = RandomFloats(rows * width, 1), w = RandomFloats(vocabulary * width, 2);
  std::vector<Element> packed(static_cast<size_t>(Panels(vocabulary) * width * kStepElements<Element>));
  PackForward(w.data(), vocabulary, width, packed.data(), 0, Panels(vocabulary));
  std::vector<float> logits(static_cast<size_t>(rows * vocabulary));
  ReportRoofline(
      state,
      {2.0 * static_cast<double>(rows * width * vocabulary), static_cast<double>(packed.size() * sizeof(Element))},
      [&] { Product({hidden.data(), rows, width}, packed.data(), {logits.data(), rows, vocabulary}); });
}

void DecodeShapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->UseManualTime()->MinTime(0.5)->ArgNames({"rows", "D", "V"});
  for (const int64_t rows : {1, 2, 4, 8, 16, 64}) benchmark->Args({rows, 2048, 50304});
}

BENCHMARK_TEMPLATE(BM_LmHeadDecode, float)->Apply(DecodeShapes);
BENCHMARK_TEMPLATE(BM_LmHeadDecode, Bf16Pair)->Apply(DecodeShapes);

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->UseManualTime()->MinTime(0.2);
  benchmark->ArgNames({"rows", "D", "V"})->Args({512, 64, 128})->Args({512, 256, 512})->Args({512, 256, 8192});
}

BENCHMARK(BM_LmHeadForward)->Apply(Shapes);
BENCHMARK(BM_LmHeadBackward)->Apply(Shapes);

}  // namespace
}  // namespace reprise::kernels
