#ifndef TESTS_DETERMINISM_TRIAL_H_
#define TESTS_DETERMINISM_TRIAL_H_

// Executions of a workload's trial run that must all give the same bytes, and checks that each was executed as
// configured.

#include <cstdint>
#include <string>
#include <vector>

#include "core/testing/all_pairs.h"
#include "tests/programs/programs.h"
#include "tests/workloads/workloads.h"

namespace reprise::testing {

inline constexpr char kSmallRun[] = "tests/determinism/small.toml";  // the trial run of completions

enum class Batches { kWholeShards, kBetweenGroups, kInsideGroups };  // where micro-batches end
enum class Slots { kAll, kFew };                                     // whether completions wait for a free slot

struct Trial {
  int ranks = 1, threads = 1;
  Batches batches = Batches::kWholeShards;
  Slots slots = Slots::kAll;
  std::string isa;  // "avx2", "avx512"
};

std::string DescribeTrial(const Trial& trial);  // "2_ranks_3_threads_inside_groups_few_slots_avx2"

// The trial that all others are compared with: one of everything, on the machine's best instruction set.
Trial BaselineTrial();

// Returns the number of values of each axis. Without AVX-512 the last axis has one value, and a line on stdout says so;
// without decoding, so has the axis of slots.
std::vector<int> TrialLevels(const TestedWorkload& workload = Workloads().front());
Trial TrialFromRow(const Row& row);

// Trains the workload's trial run with the execution of `trial`.
TrainedRun RunTrial(const Trial& trial, const TestedWorkload& workload = Workloads().front());

// Returns the baseline's run, which is executed once per process and workload.
const TrainedRun& Baseline(const TestedWorkload& workload = Workloads().front());

// Fails the test unless `run` has the baseline's bytes and was executed as `trial` says.
void ExpectSameBytes(const Trial& trial, const TrainedRun& run, const TestedWorkload& workload = Workloads().front());

}  // namespace reprise::testing

#endif  // TESTS_DETERMINISM_TRIAL_H_
