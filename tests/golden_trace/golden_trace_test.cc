// Promise: the same bits on every x86-64 CPU with FMA, today as when the traces were written. A change that alters bits
// on purpose raises the numeric contract and runs tools/update_goldens.sh in the same commit.

#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "kernels/isa/isa.h"
#include "tests/golden_trace/trace.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

void ExpectGolden(const std::string& config, const std::string& golden) {
  const std::vector<kernels::Isa> isas = kernels::AvailableIsas();
  if (isas.size() == 1) std::printf("skipped: avx512, which this machine lacks\n");
  for (kernels::Isa isa : isas) {
    SCOPED_TRACE(std::string(kernels::NameOf(isa)));
    const TrainedRun run = Train(config, {}, {.isa = std::string(kernels::NameOf(isa))});
    EXPECT_EQ(run.counts.avx512_ranks, isa == kernels::Isa::kAvx512 ? 1 : 0);
    ASSERT_OK_AND_ASSIGN(const std::string trace, TraceOfRun(run.file()));
    EXPECT_EQ(trace, Contents(golden)) << "if other bits are wanted: tools/update_goldens.sh";
  }
}

TEST(GoldenTraceTest, TheSmallRun) { ExpectGolden("tests/determinism/small.toml", "tests/golden_trace/small.trace"); }

TEST(GoldenTraceTest, SharedKeysClippedQueriesNormalisedRoutersAndTiedEmbeddings) {
  ExpectGolden("tests/golden_trace/variant.toml", "tests/golden_trace/variant.trace");
}

TEST(GoldenTraceTest, ATraceTellsRunsApart) {
  const TrainedRun run = Train("tests/determinism/small.toml", {"optimizer.learning_rate=1.0001e-3"}, {});
  ASSERT_OK_AND_ASSIGN(const std::string trace, TraceOfRun(run.file()));
  EXPECT_NE(trace, Contents("tests/golden_trace/small.trace"));
}

}  // namespace
}  // namespace reprise::testing
