// The end of a run and what comes after it: segments to run.h5, and run.h5 opened, which verifies all of it.
//   bazel run -c opt //benchmarks/artifact:artifact_benchmark -- --benchmark_filter='Merge|Open'

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/artifact/bare_file.h"
#include "benchmarks/artifact/example.h"
#include "benchmarks/artifact/stopwatch.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
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

// What the machine takes for the same bytes in memory that was used before, in turn with what is measured: "bound" is
// the part of the rate that the slower of its two sides allows, the file (`file_name`, read or written) or its SHA-256,
// which no verifying reader or writer can do without. The two might run beside each other.
class Times {
 public:
  void Add(double whole, double file, double hash) {
    whole_.push_back(whole);
    file_.push_back(file);
    hash_.push_back(hash);
  }

  void Report(::benchmark::State& state, const std::string& file_name, double bytes) const {
    const double whole = Median(whole_), file = Median(file_), hash = Median(hash_);
    state.counters["GB/s"] = bytes * 1e-9 / whole;
    state.counters["of_" + file_name] = file / whole;
    state.counters["of_sha256"] = hash / whole;
    state.counters["bound"] = std::max(file, hash) / whole;
  }

 private:
  std::vector<double> whole_, file_, hash_;
};

double SecondsOfHash(const std::string& bytes) {
  return SecondsOf([&] { ::benchmark::DoNotOptimize(Sha256(bytes)); });
}

// A copy of the same bytes: segments are on the same disk, mostly in the page cache, and the copy is synced as run.h5
// is.
void BM_Merge(::benchmark::State& state) {
  Times times;
  std::string bytes;
  for (auto _ : state) {
    const ScratchDirectory scratch;
    const std::string path = scratch.path() + "/run/run.h5";
    RunWriter writer = Written(scratch.path() + "/run", state.range(0));
    const double seconds = SecondsOf([&] { MustBeOk(writer.Finish().status()); });
    bytes.resize(std::filesystem::file_size(path));
    const double copy = SecondsOf([&] {
      ReadBare(path, &bytes);
      WriteBare(scratch.path(), "copy", bytes);
    });
    times.Add(seconds, copy, SecondsOfHash(bytes));
    state.SetIterationTime(seconds);
  }
  times.Report(state, "copy", static_cast<double>(bytes.size()));
}

// A read of the same bytes out of the page cache.
void BM_Open(::benchmark::State& state) {
  const ScratchDirectory scratch;
  MustBeOk(Written(scratch.path() + "/run", state.range(0)).Finish().status());
  const std::string path = scratch.path() + "/run/run.h5";
  std::string bytes(std::filesystem::file_size(path), ' ');
  Times times;
  for (auto _ : state) {
    const double seconds = SecondsOf([&] { MustBeOk(RunReader::Open(PosixFileSystem(), path).status()); });
    const double read = SecondsOf([&] { ReadBare(path, &bytes); });
    times.Add(seconds, read, SecondsOfHash(bytes));
    state.SetIterationTime(seconds);
  }
  times.Report(state, "read", static_cast<double>(bytes.size()));
}

void Sizes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->UseManualTime()->Iterations(5)->ArgName("bytes");
  benchmark->Arg(16 << 20)->Arg(256 << 20);
}

BENCHMARK(BM_Merge)->Apply(Sizes);
BENCHMARK(BM_Open)->Apply(Sizes);

}  // namespace
}  // namespace reprise::benchmarks
