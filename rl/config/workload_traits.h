#ifndef RL_CONFIG_WORKLOAD_TRAITS_H_
#define RL_CONFIG_WORKLOAD_TRAITS_H_

// What the configuration knows of a workload: which keys it has, and the sizes of its episodes.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/config/field_list.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"
#include "rl/schedule/trend_rules.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

struct WorkloadTraits {
  absl::string_view name;         // of run.workload
  absl::string_view what;         // it trains, for the page
  absl::string_view policy_keys;  // the keys that describe its policy, for messages

  // Its own sections, with their keys: scope is that a run is of this workload.
  void (*visit)(config::FieldList& list, Config& config, const Conditions& when, const config::Condition& scope);
  absl::string_view section = "";  // that describes its problem, except the keys of which shapes_policy is true
  bool (*shapes_policy)(absl::string_view section, absl::string_view key) = nullptr;

  // Which keys a run has.
  bool has_language_model = false;  // [model] and [lora]
  bool has_texts = false;           // episodes are sampled tokens, and problems come from [data]
  bool has_completions = false;     // answers prompts, alone or in an environment, and is rewarded for the answers
  bool has_time_limits = false;     // an episode may be truncated before it has ended

  // What decides whether some of them are read.
  bool has_one_decision = false;    // an episode is a single decision
  bool has_turns = false;           // without an environment, too
  bool masks_actions = false;       // some actions may not be allowed
  bool decays_only_values = false;  // weight_decay can be of the value function alone (rl/gradient/parameter_units.cc)

  // Whether the problems of evaluations are never among those of training.
  bool (*holds_out)(const Config& config) = nullptr;
  int64_t (*most_decisions)(const Config& config) = nullptr;  // of an episode
  // Whether the rewards of turns can be given where they are earned, and for messages the keys that say so and that
  // give an episode one reward at its end ("": none does).
  bool (*rewards_turns)(const Config& config) = nullptr;
  absl::string_view turn_rewards = "", final_reward = "";
  bool never_draws_some = false;  // tokens that a sample never has, whatever [rollout] says
  // The metrics of an evaluation beside those of ScoreMetricNames.
  std::vector<std::string> (*score_names)(const Config& config) = [](const Config&) {
    return std::vector<std::string>();
  };
  // InvalidArgument, naming the keys, for values that do not go together.
  absl::Status (*check)(const Config& config) = [](const Config&) { return absl::OkStatus(); };
  WorkloadTrends (*trends)(const Config& config) = [](const Config&) { return WorkloadTrends(); };
};

// Returns the traits of run.workload, which must be one of its names (checked). Pure.
const WorkloadTraits& Traits(const Config& config);

// Returns the traits of all workloads, the one place of rl/config that lists them.
absl::Span<const WorkloadTraits> Workloads();

// Returns a sentence about run.workload with what each workload trains, which lives as long as the program.
absl::string_view WorkloadsDoc();

// Returns the names of all workloads. Pure.
std::vector<absl::string_view> WorkloadNames();

// Returns the names of the workloads that have the trait: "completions, memory_agent or quiet_star". Pure.
std::string WorkloadNames(bool WorkloadTraits::* trait);

// Returns whether the key says what a run is to learn, and how that is rewarded or measured: the rewards of runs that
// differ in such a key cannot be compared. Pure.
bool DescribesProblem(absl::string_view section, absl::string_view key);

// Returns whether a run averages the rewards of its last steps (evaluation.reward_window). Pure.
bool AveragesRewards(const Config& config);

// Returns whether failures in a row, of the workload's tests, have ended the run. Pure.
bool FailuresEndRun(const Config& config, double failures);

// Returns how many units (algorithm.minibatches_of) a step deals to its minibatches; of decisions the most it can have.
// Pure.
int64_t MinibatchUnits(const Config& config);

// Returns how many minibatches an iteration has; of decisions the most it can have. Pure.
int64_t MinibatchesOfIteration(const Config& config);

// Returns whether an episode's rewards are given where they are earned, not at its end. Pure.
bool EarnsByTurn(const Config& config);

}  // namespace reprise::rl

#endif  // RL_CONFIG_WORKLOAD_TRAITS_H_
