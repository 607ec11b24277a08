// Computes digests of many tensors of one size, as a step of training does, on one thread.
//   bazel run -c opt //benchmarks/artifact:artifact_benchmark -- --benchmark_filter=Sha256

#include <vector>

#include "absl/types/span.h"
#include "benchmark/benchmark.h"
#include "benchmarks/kernels/rate.h"
#include "core/digest/sha256_batch.h"
#include "core/digest/sha256_pair.h"
#include "core/tensor/tensor.h"

namespace reprise::benchmarks {
namespace {

void BM_Sha256(::benchmark::State& state) {
  const int64_t count = state.range(0), bytes = state.range(1);
  Tensor memory("", DType::kU8, {count * bytes});
  uint32_t noise = 1;
  for (std::byte& byte : memory.mutable_bytes()) {
    byte = static_cast<std::byte>((noise = noise * 1664525 + 1013904223) >> 24);
  }
  std::vector<absl::Span<const std::byte>> messages;
  for (int64_t i = 0; i < count; ++i) messages.push_back(memory.bytes().subspan(i * bytes, bytes));
  ThreadPool pool(1);
  const auto pairs = [&] {
    for (size_t i = 0; i + 1 < messages.size(); i += 2) {
      ::benchmark::DoNotOptimize(Sha256Pair(messages[i], messages[i + 1]));
    }
  };
  const auto openssl = [&] {
    for (const absl::Span<const std::byte> message : messages) ::benchmark::DoNotOptimize(Sha256(message));
  };
  ReportBandwidth(state, static_cast<double>(count * bytes),
                  [&] { ::benchmark::DoNotOptimize(Sha256Batch(messages, pool)); },
                  {{"pairs", pairs}, {"openssl", openssl}});
}
BENCHMARK(BM_Sha256)
    ->ArgNames({"tensors", "bytes"})
    ->Args({432, 262144})
    ->Args({20, 262144})
    ->UseManualTime()
    ->MinTime(0.2);

}  // namespace
}  // namespace reprise::benchmarks
