// Rank 0 reports the results; other ranks print only their failures. A failure on any rank fails the test.

#include "core/comm/testing/mpi_test_world.h"

#include <cstdio>
#include <cstdlib>

#include "core/comm/collectives.h"
#include "core/comm/mpi/world.h"
#include "core/status/check.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

Communicator* test_world = nullptr;

class FailuresOnly : public ::testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", test_world->rank(), result.file_name() ? result.file_name() : "?",
                 result.line_number(), result.message());
  }
};

void SilenceThisRank() {
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailuresOnly);
}

int RunAllTestsOn(std::unique_ptr<Communicator> world, int* argc, char** argv) {
  test_world = world.get();
  if (world->rank() != 0) {  // the build tool expects one of each file per test: only rank 0 writes them
    unsetenv("TEST_PREMATURE_EXIT_FILE");
    unsetenv("XML_OUTPUT_FILE");
  }
  ::testing::InitGoogleTest(argc, argv);
  if (world->rank() != 0) SilenceThisRank();
  int64_t failed = RUN_ALL_TESTS();
  const absl::Status status = AllreduceMax(*world, absl::MakeSpan(&failed, 1));
  if (!status.ok() || failed != 0) return 1;
  return FinishWorld(std::move(world)).ok() ? 0 : 1;
}

}  // namespace

Communicator& MpiTestWorld() {
  CHECK(test_world != nullptr);
  return *test_world;
}

}  // namespace reprise::testing

int main(int argc, char** argv) {
  absl::StatusOr<std::unique_ptr<reprise::Communicator>> world = reprise::StartWorld(/*ranks=*/0);
  if (!world.ok()) {
    std::fprintf(stderr, "%s\n", world.status().ToString().c_str());
    return 1;
  }
  return reprise::testing::RunAllTestsOn(*std::move(world), &argc, argv);
}
