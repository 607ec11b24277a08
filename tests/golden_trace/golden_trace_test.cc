// Promise: runs give the same bits on every x86-64 CPU with FMA, and the same as when the traces were written. A change
// that alters bits on purpose increments the numeric contract and regenerates the traces (CONTRIBUTING.md).

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "kernels/isa/isa.h"
#include "tests/golden_trace/trace.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

struct GoldenRun {
  std::string name, config;
  std::vector<std::string> settings;
};

// Returns the runs of runs.txt.
std::vector<GoldenRun> GoldenRuns() {
  std::vector<GoldenRun> runs;
  for (const absl::string_view line : absl::StrSplit(Contents("tests/golden_trace/runs.txt"), '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    runs.push_back({words.at(0), words.at(1), {words.begin() + 2, words.end()}});
  }
  return runs;
}

class GoldenTraceTest : public ::testing::TestWithParam<GoldenRun> {};

TEST_P(GoldenTraceTest, ARunEqualsItsStoredTrace) {
  const std::vector<kernels::Isa> isas = kernels::AvailableIsas();
  if (isas.size() == 1) std::printf("skipped: avx512, which this machine lacks\n");
  for (kernels::Isa isa : isas) {
    SCOPED_TRACE(std::string(kernels::NameOf(isa)));
    const TrainedRun run = Train(GetParam().config, GetParam().settings, {.isa = std::string(kernels::NameOf(isa))});
    EXPECT_EQ(run.counts.avx512_ranks, isa == kernels::Isa::kAvx512 ? 1 : 0);
    ASSERT_OK_AND_ASSIGN(const std::string trace, TraceOfRun(run.file()));
    EXPECT_EQ(trace, Contents(absl::StrCat("tests/golden_trace/", GetParam().name, ".trace")))
        << "if the bits change on purpose, run tools/update_goldens.sh";
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, GoldenTraceTest, ::testing::ValuesIn(GoldenRuns()),
                         [](const auto& run) { return run.param.name; });

TEST(TraceTest, DiffersForADifferentRun) {
  const TrainedRun run = Train("tests/determinism/small.toml", {"optimizer.learning_rate=1.0001e-3"}, {});
  ASSERT_OK_AND_ASSIGN(const std::string trace, TraceOfRun(run.file()));
  EXPECT_NE(trace, Contents("tests/golden_trace/small.trace"));
}

}  // namespace
}  // namespace reprise::testing
