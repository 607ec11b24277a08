// Times the exchange of an update between ranks that are threads, relative to a copy within memory.
//   bazel run -c opt //benchmarks/exchange:exchange_benchmark

#include <cstdint>

#include "benchmark/benchmark.h"
#include "benchmarks/exchange/exchange_run.h"
#include "core/comm/testing/thread_communicator.h"
#include "kernels/isa/isa.h"

namespace reprise::benchmarks {
namespace {

// "GB/s": the bytes that all ranks together send for each second of an update.
void BM_Exchange(::benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const int64_t floats = state.range(1), units = state.range(2);
  int shards = 1;
  while (shards < ranks) shards *= 2;
  const double bandwidth = CopyBandwidth();
  ExchangeRun run;
  for (auto _ : state) {
    const absl::Status status = RunAsRanks(ranks, [&](Communicator& comm) -> absl::Status {
      absl::StatusOr<ExchangeRun> result = RunExchange(comm, floats, units, shards, /*repetitions=*/5);
      if (result.ok() && comm.rank() == 0) run = *result;
      return result.status();
    });
    if (!status.ok()) return state.SkipWithError(std::string(status.message()).c_str());
    state.SetIterationTime(run.seconds());
  }
  const double rate = static_cast<double>(run.traffic.bytes) * ranks / run.seconds();
  state.counters["GB/s"] = rate / 1e9;
  state.counters["bandwidth"] = rate / bandwidth;
  state.counters["messages"] = static_cast<double>(run.traffic.messages);
  state.counters["bytes"] = static_cast<double>(run.traffic.bytes);
  state.counters["bytes of formula"] = run.expected_bytes;
}
BENCHMARK(BM_Exchange)
    ->ArgNames({"ranks", "floats", "units"})
    ->Args({2, 1 << 24, 64})
    ->Args({4, 1 << 23, 64})
    ->Args({3, 1 << 23, 64})
    ->Args({64, 1 << 17, 512})
    ->Args({256, 1 << 16, 1024})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(::benchmark::kMillisecond);

}  // namespace
}  // namespace reprise::benchmarks

int main(int argc, char** argv) {
  if (!reprise::kernels::InitializeIsa().ok()) return 70;
  ::benchmark::Initialize(&argc, argv);
  ::benchmark::RunSpecifiedBenchmarks();
  return 0;
}
