// What it costs to make a step durable, beside the least that any crash-safe writer does with as many bytes (a file
// written, synced, renamed, and its directory synced) and beside their SHA-256; all three in turn.
//   bazel run -c opt //benchmarks/artifact:artifact_benchmark -- --benchmark_filter=Commit

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/artifact/example.h"
#include "benchmarks/artifact/stopwatch.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
#include "core/status/check.h"
#include "data/artifact/run_writer.h"

namespace reprise::benchmarks {
namespace {

void SyncAndClose(int descriptor) {
  CHECK_EQ(fsync(descriptor), 0);
  CHECK_EQ(close(descriptor), 0);
}

// System calls alone.
void WriteBare(const std::string& directory, const std::string& name, const std::string& bytes) {
  const std::string path = directory + "/" + name, temporary = path + ".tmp";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
  CHECK_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  SyncAndClose(file);
  CHECK_EQ(std::rename(temporary.c_str(), path.c_str()), 0);
  SyncAndClose(open(directory.c_str(), O_RDONLY | O_DIRECTORY));
}

void BM_Commit(::benchmark::State& state) {
  const ScratchDirectory scratch, bare;
  const std::vector<StreamTable> tables = {TokenStep(state.range(0))};
  const std::string bytes(static_cast<size_t>(state.range(0)), 'x');
  RunWriter writer = RunWriter::Create(PosixFileSystem(), scratch.path() + "/run", TokenRun()).value();
  std::vector<double> commit, write, hash;
  int64_t step = 0;
  for (auto _ : state) {
    ++step;
    commit.push_back(SecondsOf([&] {
      MustBeOk(writer.CommitStep(step, tables));
      MustBeOk(writer.Flush());
    }));
    write.push_back(SecondsOf([&] { WriteBare(bare.path(), std::to_string(step), bytes); }));
    hash.push_back(SecondsOf([&] { ::benchmark::DoNotOptimize(Sha256(bytes)); }));
    state.SetIterationTime(commit.back());
  }
  state.counters["ms"] = 1e3 * Median(commit);
  state.counters["bare_ms"] = 1e3 * Median(write);
  state.counters["sha256_ms"] = 1e3 * Median(hash);
  state.counters["of_bare"] = Median(write) / Median(commit);
  state.counters["of_sha256"] = Median(hash) / Median(commit);
}

BENCHMARK(BM_Commit)->UseManualTime()->ArgName("bytes")->Arg(4 << 10)->Iterations(200);
BENCHMARK(BM_Commit)->UseManualTime()->ArgName("bytes")->Arg(1 << 20)->Iterations(60);
BENCHMARK(BM_Commit)->UseManualTime()->ArgName("bytes")->Arg(16 << 20)->Iterations(15);

}  // namespace
}  // namespace reprise::benchmarks
