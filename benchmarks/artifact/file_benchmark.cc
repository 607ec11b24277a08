// The end of a run and what comes after it: segments to run.h5, and run.h5 opened, which verifies all of it.
//   bazel run -c opt //benchmarks/artifact:artifact_benchmark -- --benchmark_filter='Merge|Open'

#include <filesystem>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/artifact/example.h"
#include "benchmarks/artifact/stopwatch.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_writer.h"

namespace reprise::benchmarks {
namespace {

constexpr int64_t kStepBytes = int64_t{4} << 20;

// A run of that many bytes in segments of 16 MiB, all but finished.
RunWriter Written(const std::string& directory, int64_t bytes) {
  RunWriter writer = RunWriter::Create(PosixFileSystem(), directory, TokenRun()).value();
  const std::vector<StreamTable> tables = {TokenStep(kStepBytes)};
  for (int64_t step = 1; step <= bytes / kStepBytes; ++step) MustBeOk(writer.CommitStep(step, tables));
  MustBeOk(writer.Flush());
  return writer;
}

double Gigabytes(const std::string& path) { return static_cast<double>(std::filesystem::file_size(path)) / 1e9; }

void BM_Merge(::benchmark::State& state) {
  std::vector<double> rates;
  for (auto _ : state) {
    const ScratchDirectory scratch;
    RunWriter writer = Written(scratch.path() + "/run", state.range(0));
    const double seconds = SecondsOf([&] { MustBeOk(writer.Finish().status()); });
    state.SetIterationTime(seconds);
    rates.push_back(Gigabytes(scratch.path() + "/run/run.h5") / seconds);
  }
  state.counters["GB/s"] = Median(rates);
}

// Also says what part of the time SHA-256 of the bytes in memory takes: there is no verifying without it.
void BM_Open(::benchmark::State& state) {
  const ScratchDirectory scratch;
  MustBeOk(Written(scratch.path() + "/run", state.range(0)).Finish().status());
  const std::string path = scratch.path() + "/run/run.h5";
  const std::string bytes = ReadFile(PosixFileSystem(), path, int64_t{1} << 40).value();
  std::vector<double> open, hash;
  for (auto _ : state) {
    open.push_back(SecondsOf([&] { MustBeOk(RunReader::Open(PosixFileSystem(), path).status()); }));
    hash.push_back(SecondsOf([&] { ::benchmark::DoNotOptimize(Sha256(bytes)); }));
    state.SetIterationTime(open.back());
  }
  state.counters["GB/s"] = Gigabytes(path) / Median(open);
  state.counters["of_sha256"] = Median(hash) / Median(open);
}

void Sizes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->UseManualTime()->Iterations(5)->ArgName("bytes");
  benchmark->Arg(16 << 20)->Arg(256 << 20);
}

BENCHMARK(BM_Merge)->Apply(Sizes);
BENCHMARK(BM_Open)->Apply(Sizes);

}  // namespace
}  // namespace reprise::benchmarks
