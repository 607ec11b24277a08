#ifndef RL_ALGORITHM_ALGORITHM_H_
#define RL_ALGORITHM_ALGORITHM_H_

// An algorithm is a set of options for rl/advantage, rl/loss, rl/value and rl/schedule: the section [algorithm] of a
// configuration. A named algorithm is a preset of them; a new one is a new row of the table.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rl/advantage/advantages.h"
#include "rl/advantage/optimal_value.h"
#include "rl/loss/importance_correction.h"
#include "rl/loss/options.h"
#include "rl/schedule/entropy_coefficient.h"
#include "rl/schedule/kl_coefficient.h"
#include "rl/schedule/minibatches.h"
#include "rl/value/value_loss.h"

namespace reprise::rl {

// How the reference model follows the policy.
struct ReferenceOptions {
  bool sync = false;         // whether it ever changes
  int64_t sync_steps = 512;  // steps from one synchronisation to the next
  double mixup_alpha = 0.6;  // the policy's share at each

  bool operator==(const ReferenceOptions&) const = default;
};

// The rewards of completions.
struct RewardSelection {
  std::string functions = "exact_match";  // one or more names
  std::string weights = "";               // "": 1 each
  bool by_turn = false;                   // an environment's rewards are those of its turns, not their sum at the end
  int64_t soft_punish_cache = 0;          // 0: no punishment
  double missing_eos_penalty = 0;

  bool operator==(const RewardSelection&) const = default;
};

struct AlgorithmConfig {
  std::string name = "grpo";
  RewardSelection reward = {};
  AdvantageOptions advantage = {};
  LossOptions loss = {};
  std::optional<bool> kl_in_reward = {};  // nullopt: as the loss type needs it (KlInReward)
  bool has_value_network = false;         // for baseline value: a second model, not a head of the policy
  ValueLossOptions value = {};
  ImportanceOptions correction = {};
  UpdateOptions update = {};
  OptimalValueOptions optimal = {};         // for baseline optimal
  double baseline_decay = 0.9;              // for baseline running_mean
  bool mask_truncated_completions = false;  // their rewards count, but none of their tokens
  bool dynamic_sampling = false;            // rl/advantage/group_relative.h
  // In a step's plan the two weights that these schedules move, the divergence's and loss.entropy_coef, are the step's.
  KlOptions kl = {};
  EntropyOptions entropy = {};
  ReferenceOptions reference = {};
  bool episode_metrics = false;  // rl/metrics/episode_metrics.h
  bool diagnostics = false;      // rl/metrics/anomalies.h

  bool operator==(const AlgorithmConfig&) const = default;
};

struct AlgorithmPreset {
  absl::string_view source;  // paper or implementation that defines the options
  AlgorithmConfig algorithm;
};

// Returns the presets in the order of the table. The reference stays valid.
const std::vector<AlgorithmPreset>& AlgorithmPresets();

// Returns their names.
std::vector<absl::string_view> AlgorithmNames();

// Returns whether the advantages are computed with a value function, not only from rewards (and a divergence).
bool NeedsValues(const AlgorithmConfig& algorithm);

// Returns whether log-probabilities under the sampling policy and the reference are needed before the first update.
inline bool NeedsDivergence(const AlgorithmConfig& algorithm) { return algorithm.advantage.reward_beta != 0; }

// Returns whether anything is compared with a reference model.
bool NeedsReference(const AlgorithmConfig& algorithm);

// Returns whether the state after a step consists of more than weights, moments and counters: that of a schedule.
bool HasSchedules(const AlgorithmConfig& algorithm);

// Returns a copy of the preset's options; InvalidArgument with the nearest name for an unknown one.
absl::StatusOr<AlgorithmConfig> FindAlgorithm(absl::string_view name);

// Returns whether the divergence from the reference is subtracted from the reward; otherwise it is added to the loss.
// The setter moves it there, with its weight. Loss type rloo has it in the reward in any case.
bool KlInReward(const AlgorithmConfig& algorithm);
void SetKlInReward(bool in_reward, AlgorithmConfig* algorithm);

// Sets the weight of the divergence from the reference, in the reward or in the loss, where KlInReward has it.
void SetBeta(double beta, AlgorithmConfig* algorithm);
double Beta(const AlgorithmConfig& algorithm);

// The same for its estimator. The default is k1 in the reward, and the preset's in the loss. The exact divergence has
// no ratio that would correct it: the setter turns use_bias_correction_kl off.
void SetEstimator(KlEstimator estimator, AlgorithmConfig* algorithm);
KlEstimator Estimator(const AlgorithmConfig& algorithm);

// Sets the loss type, with its own clip and aggregation, together with the options that it requires: RLOO's ratio of
// whole sequences, and CISPO's cap of the ratio (5), because epsilon_high has another meaning there than in the other
// loss types.
void SetLossType(LossType loss_type, AlgorithmConfig* algorithm);

// Sets the clip, and CISPO's cap as above. Nothing changes where the loss type has that clip anyway.
void SetClip(Clip clip, AlgorithmConfig* algorithm);

// The same for the divisor.
void SetAggregation(Aggregation aggregation, AlgorithmConfig* algorithm);

// Sets the lower clip, and the upper one where it equals the lower one.
void SetEpsilon(double epsilon, AlgorithmConfig* algorithm);

// Returns InvalidArgument, naming the keys, for options that cannot be combined.
absl::Status ValidateAlgorithm(const AlgorithmConfig& algorithm);

}  // namespace reprise::rl

#endif  // RL_ALGORITHM_ALGORITHM_H_
