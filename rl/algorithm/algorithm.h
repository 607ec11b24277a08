#ifndef RL_ALGORITHM_ALGORITHM_H_
#define RL_ALGORITHM_ALGORITHM_H_

// An algorithm is a row of options for rl/advantage, rl/loss, rl/value and rl/schedule. A new algorithm is a new row.

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
  int64_t sync_steps = 0;  // steps from one synchronisation to the next; 0: the reference never changes
  double mixup_alpha = 0;  // the policy's share at each
};

struct AlgorithmRow {
  absl::string_view name;
  absl::string_view source;  // paper or implementation that defines the options
  AdvantageOptions advantage = {};
  LossOptions loss = {};
  bool kl_in_reward = false;    // whether the divergence is subtracted from the reward; always with loss_type rloo
  ValueLossOptions value = {};  // for baseline value
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
};

// Returns the names of the rows, in the order of the table.
std::vector<absl::string_view> AlgorithmNames();

// Returns whether the row's advantages are computed with a value function, not only from rewards (and a divergence).
bool NeedsValues(const AlgorithmRow& row);

// Returns whether log-probabilities under the sampling policy and the reference are needed before the first update.
inline bool NeedsDivergence(const AlgorithmRow& row) { return row.advantage.reward_beta != 0; }

// Returns whether anything is compared with a reference model.
bool NeedsReference(const AlgorithmRow& row);

// Returns whether the state after a step consists of more than weights, moments and counters: that of a schedule.
bool HasSchedules(const AlgorithmRow& row);

// Returns a copy of the row, for the configuration to override; InvalidArgument with the nearest name for an unknown
// one.
absl::StatusOr<AlgorithmRow> FindAlgorithm(absl::string_view name);

// Returns whether the divergence from the reference is subtracted from the reward; otherwise it is added to the loss.
bool KlInReward(const AlgorithmRow& row);

// Sets the weight of the divergence from the reference, in the reward or in the loss as the row has it.
void SetBeta(double beta, AlgorithmRow* row);
double Beta(const AlgorithmRow& row);

// The same for its estimator. The default is k1 in the reward, and the row's own in the loss.
void SetEstimator(KlEstimator estimator, AlgorithmRow* row);
KlEstimator Estimator(const AlgorithmRow& row);

// Sets the loss type, with its own clip and aggregation, together with the options that it requires: RLOO's ratio of
// whole sequences, and CISPO's cap of the ratio (5), because epsilon_high has another meaning there than in the other
// loss types.
void SetLossType(LossType loss_type, AlgorithmRow* row);

// Sets the clip, and CISPO's cap as above.
void SetClip(Clip clip, AlgorithmRow* row);

// Returns InvalidArgument, naming the keys, for options that cannot be combined.
absl::Status ValidateAlgorithm(const AlgorithmRow& row);

}  // namespace reprise::rl

#endif  // RL_ALGORITHM_ALGORITHM_H_
