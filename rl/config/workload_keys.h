#ifndef RL_CONFIG_WORKLOAD_KEYS_H_
#define RL_CONFIG_WORKLOAD_KEYS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"
#include "rl/schedule/trend_rules.h"

namespace reprise::rl {

// Returns whether a run of the workload can read the key; key_use.h has the conditions that follow from other keys. An
// unknown workload is a failed check. Pure.
bool WorkloadReads(absl::string_view workload, absl::string_view section, absl::string_view key);

// Returns the names of the workloads that can read the key, as "completions, memory_agent or quiet_star"; "" if none
// can. Pure.
std::string ReadersOf(absl::string_view section, absl::string_view key);

// Returns whether the key says what a run is to learn, and how that is rewarded or measured: the rewards of runs that
// differ in such a key cannot be compared. Pure.
bool DescribesProblem(absl::string_view section, absl::string_view key);

// Returns, for messages, the keys that describe the run's policy. Pure.
absl::string_view PolicyKeys(const Config& config);

// Returns what the run's workload has the training loop keep, and the rules by which a phase ends early. Pure.
WorkloadTrends TrendsOf(const Config& config);

// Returns whether a run averages the rewards of its last steps (evaluation.reward_window). Pure.
bool AveragesRewards(const Config& config);

// Returns whether failures in a row, of the workload's tests, have ended the run. Pure.
bool FailuresEndRun(const Config& config, double failures);

// Returns whether the problems of the run's evaluations are never among those of its training: a file or a share holds
// them out, or no two draws are the same problem. Pure.
bool HoldsOut(const Config& config);

// Returns the greatest number of decisions of an episode of the run. Pure.
int64_t MostDecisions(const Config& config);

// Returns how many units (algorithm.minibatches_of) a step deals to its minibatches; of decisions the most it can have.
// Pure.
int64_t MinibatchUnits(const Config& config);

// Returns how many minibatches an iteration has; of decisions the most it can have. Pure.
int64_t MinibatchesOfIteration(const Config& config);

// Returns whether an episode's rewards are given where they are earned, not at its end. row: that of
// config.algorithm. Pure.
bool EarnsByTurn(const Config& config, const AlgorithmRow& row);

}  // namespace reprise::rl

#endif  // RL_CONFIG_WORKLOAD_KEYS_H_
