// Times the end of a run, which merges segments into run.h5, and opening run.h5, which verifies all of it.
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

// Returns a run of that many bytes in segments of 16 MiB, complete except for Finish.
RunWriter Written(const std::string& directory, int64_t bytes) {
  RunWriter writer = RunWriter::Create(PosixFileSystem(), directory, TokenRun()).value();
  const std::vector<StreamTable> tables = {TokenStep(kStepBytes)};
  for (int64_t step = 1; step <= bytes / kStepBytes; ++step) MustBeOk(writer.CommitStep(step, tables));
  MustBeOk(writer.Flush());
  return writer;
}

// Times of the measured operation, alternating with the machine's own times for the same bytes in memory that was used
// before: reading or writing the file (`file_name`), and its SHA-256, which every verifying reader or writer needs. The
// two could run concurrently, so "bound" is the fraction of the rate that the slower one permits.
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
  return MeasureSeconds([&] { ::benchmark::DoNotOptimize(Sha256(bytes)); });
}

// Compares merging with a copy of the same bytes: segments are on the same disk, mostly in the page cache, and the copy
// is synced like run.h5.
void BM_Merge(::benchmark::State& state) {
  Times times;
  std::string bytes;
  for (auto _ : state) {
    const ScratchDirectory scratch;
    const std::string path = scratch.path() + "/run/run.h5";
    RunWriter writer = Written(scratch.path() + "/run", state.range(0));
    const double seconds = MeasureSeconds([&] { MustBeOk(writer.Finish().status()); });
    bytes.resize(std::filesystem::file_size(path));
    const double copy = MeasureSeconds([&] {
      ReadBare(path, &bytes);
      WriteBare(scratch.path(), "copy", bytes);
    });
    times.Add(seconds, copy, SecondsOfHash(bytes));
    state.SetIterationTime(seconds);
  }
  times.Report(state, "copy", static_cast<double>(bytes.size()));
}

// Compares opening with a read of the same bytes from the page cache.
void BM_Open(::benchmark::State& state) {
  const ScratchDirectory scratch;
  MustBeOk(Written(scratch.path() + "/run", state.range(0)).Finish().status());
  const std::string path = scratch.path() + "/run/run.h5";
  std::string bytes(std::filesystem::file_size(path), ' ');
  Times times;
  for (auto _ : state) {
    const double seconds = MeasureSeconds([&] { MustBeOk(RunReader::Open(PosixFileSystem(), path).status()); });
    const double read = MeasureSeconds([&] { ReadBare(path, &bytes); });
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
