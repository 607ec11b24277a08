#include "tests/workloads/training.h"

#include <memory>
#include <utility>

#include "core/comm/testing/thread_communicator.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/load.h"
#include "rl/record/divergence.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"
#include "rl/run/workloads.h"

namespace reprise::rl {

Config ConfigOf(const std::string& text) { return LoadConfig(text, "test.toml", {}).value().config; }

std::vector<StepTables> Train(const Config& config, int ranks, const std::vector<StepTables>* records) {
  TableSink sink;
  EXPECT_OK(RunAsRanks(ranks, [&](Communicator& comm) -> absl::Status {
    auto parts = PrepareRun(config);
    if (!parts.ok()) return parts.status();
    const auto execution =
        Execution::Create({.config = config, .parts = *parts, .comm = comm, .sink = &sink, .records = records});
    if (!execution.ok()) return execution.status();
    return (*execution)->learner().Run(0);
  }));
  return std::move(sink.steps);
}

void ExpectSame(const Config& config, const std::vector<StepTables>& a, const std::vector<StepTables>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const auto found = FirstDivergence(MakeRecordSchema(config), a[i], b[i], {}, Digests::kRequired);
    EXPECT_FALSE(found.has_value()) << found->ToString();
  }
}

}  // namespace reprise::rl
