#include "kernels/isa/peaks.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>

#include "core/tensor/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/isa/peaks.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {
namespace {

// Enough independent chains to hide the latency of an addition, few enough for 16 registers.
constexpr int kChains = 12;

// Returns the number of floating-point operations done.
HWY_NOINLINE double RunChains(int64_t rounds, float* result) {
  const FloatTag d;
  Floats chains[kChains];
  REPRISE_UNROLL for (int i = 0; i < kChains; ++i) chains[i] = hn::Set(d, static_cast<float>(i));
  const Floats factor = hn::Set(d, result[0]), addend = hn::Set(d, result[1]);
  for (int64_t round = 0; round < rounds; ++round) {
    REPRISE_UNROLL for (int i = 0; i < kChains; ++i) chains[i] = hn::MulAdd(chains[i], factor, addend);
  }
  Floats sum = chains[0];
  REPRISE_UNROLL for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, chains[i]);
  result[2] = hn::GetLane(hn::SumOfLanes(d, sum));
  return 2.0 * kWidth * kChains * static_cast<double>(rounds);
}

// Returns the largest of n values; n must be a multiple of 128.
HWY_NOINLINE float ReadAll(const float* memory, int64_t n) {
  const FloatTag d;
  constexpr int64_t kLine = 16, kAhead = 64 * kLine, kTogether = 8 * kLine;
  Floats largest[kTogether / kWidth];
  REPRISE_UNROLL for (auto& vector : largest) vector = hn::Zero(d);
  for (int64_t i = 0; i < n; i += kTogether) {
    REPRISE_UNROLL for (int64_t line = 0; line < kTogether; line += kLine) {
      __builtin_prefetch(memory + i + kAhead + line);
    }
    REPRISE_UNROLL for (int v = 0; v < kTogether / kWidth; ++v) {
      largest[v] = hn::Max(largest[v], hn::Load(d, memory + i + v * kWidth));
    }
  }
  Floats all = largest[0];
  REPRISE_UNROLL for (int v = 1; v < kTogether / kWidth; ++v) all = hn::Max(all, largest[v]);
  return hn::GetLane(hn::MaxOfLanes(d, all));
}

}  // namespace
}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(RunChains);
HWY_EXPORT(ReadAll);

double MeasureFmaPeak() {
  double best = 0;
  float operands[3] = {0.999f, 0.001f, 0.0f};
  for (int i = 0; i < 40; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const double operations = HWY_DYNAMIC_DISPATCH(RunChains)(100000, operands);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, operations / seconds.count() / 1e9);
  }
  return best;
}

double MeasureReadBandwidth() {
  constexpr int64_t kFloats = int64_t{1} << 26;
  static const Tensor memory("", DType::kF32, {kFloats});
  const auto seconds = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  double best = 0;
  volatile float sink = 0;
  for (int i = 0; i < 6; ++i) {
    const double start = seconds();
    sink = HWY_DYNAMIC_DISPATCH(ReadAll)(memory.data<float>().data(), kFloats);
    best = std::max(best, static_cast<double>(kFloats) * sizeof(float) / (seconds() - start));
  }
  static_cast<void>(sink);
  return best;
}

}  // namespace reprise::kernels
#endif
