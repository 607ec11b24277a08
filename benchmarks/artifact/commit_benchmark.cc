// The time to make a step durable, compared with the minimum that any crash-safe writer does with as many bytes (it
// writes a file, syncs it, renames it, and syncs its directory) and with their SHA-256; measured in turn. "bound" is
// the fraction of the rate that the slower of the two permits.
//   bazel run -c opt //benchmarks/artifact:artifact_benchmark -- --benchmark_filter=Commit

#include <algorithm>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/artifact/bare_file.h"
#include "benchmarks/artifact/example.h"
#include "benchmarks/artifact/stopwatch.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
#include "data/artifact/run_writer.h"

namespace reprise::benchmarks {
namespace {

void BM_Commit(::benchmark::State& state) {
  const ScratchDirectory scratch, bare;
  const std::vector<StreamTable> tables = {TokenStep(state.range(0))};
  const std::string bytes(static_cast<size_t>(state.range(0)), 'x');
  RunWriter writer = RunWriter::Create(PosixFileSystem(), scratch.path() + "/run", TokenRun()).value();
  std::vector<double> commit, write, hash;
  int64_t step = 0;
  for (auto _ : state) {
    ++step;
    commit.push_back(MeasureSeconds([&] {
      MustBeOk(writer.CommitStep(step, tables));
      MustBeOk(writer.Flush());
    }));
    write.push_back(MeasureSeconds([&] { WriteBare(bare.path(), std::to_string(step), bytes); }));
    hash.push_back(MeasureSeconds([&] { ::benchmark::DoNotOptimize(Sha256(bytes)); }));
    state.SetIterationTime(commit.back());
  }
  state.counters["ms"] = 1e3 * Median(commit);
  state.counters["bare_ms"] = 1e3 * Median(write);
  state.counters["sha256_ms"] = 1e3 * Median(hash);
  state.counters["GB/s"] = static_cast<double>(state.range(0)) * 1e-9 / Median(commit);
  state.counters["of_bare"] = Median(write) / Median(commit);
  state.counters["of_sha256"] = Median(hash) / Median(commit);
  state.counters["bound"] = std::max(Median(write), Median(hash)) / Median(commit);
}

BENCHMARK(BM_Commit)->UseManualTime()->ArgName("bytes")->Arg(4 << 10)->Iterations(200);
BENCHMARK(BM_Commit)->UseManualTime()->ArgName("bytes")->Arg(1 << 20)->Iterations(60);
BENCHMARK(BM_Commit)->UseManualTime()->ArgName("bytes")->Arg(16 << 20)->Iterations(15);

}  // namespace
}  // namespace reprise::benchmarks
