#ifndef TESTS_WORKLOADS_WORKLOADS_H_
#define TESTS_WORKLOADS_WORKLOADS_H_

// The workloads over which the tests of promises run: the one place that lists them.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::testing {

// A run of a fraction of a second, with every case that the order of sums could change: shards of two and three
// prompts, an update of each of the SFT phase's 2 steps, and two updates in each of 3 training steps.
struct TrialRun {
  std::string config;  // of the runfiles
  int64_t group_rows;  // micro_batch_tokens that end micro-batches between groups, and not inside one
  int64_t few_rows;    // micro_batch_tokens that end micro-batches inside groups
  bool decodes;        // whether its policy decodes: has slots, and counts groups that micro-batches cut
};

struct TestedWorkload {
  std::string name;  // run.workload
  TrialRun trial;
  std::string quick;  // a run of two steps and less than a tenth of a second, which saves its state after each of them
};

// The first is that of completions.
const std::vector<TestedWorkload>& Workloads();

inline std::string WorkloadName(const ::testing::TestParamInfo<TestedWorkload>& info) { return info.param.name; }
inline void PrintTo(const TestedWorkload& workload, std::ostream* out) { *out << workload.name; }

// Tests of the suite (TEST_P) run over every workload.
#define FOR_EACH_WORKLOAD(suite)                                               \
  INSTANTIATE_TEST_SUITE_P(Workloads, suite, ::testing::ValuesIn(Workloads()), \
                           [](const auto& info) { return WorkloadName(info); })

}  // namespace reprise::testing

#endif  // TESTS_WORKLOADS_WORKLOADS_H_
