#ifndef RL_ALGORITHM_ALGORITHM_H_
#define RL_ALGORITHM_ALGORITHM_H_

// An algorithm is a row of choices over the pieces of rl/advantage, rl/loss, rl/value and rl/schedule. A new algorithm
// is a new row.

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rl/advantage/advantages.h"
#include "rl/loss/importance_correction.h"
#include "rl/loss/options.h"
#include "rl/schedule/minibatches.h"
#include "rl/value/value_loss.h"

namespace reprise::rl {

struct AlgorithmRow {
  absl::string_view name;
  absl::string_view source;  // where the choices come from
  AdvantageOptions advantage = {};
  LossOptions loss = {};
  bool kl_in_reward = false;    // whether the divergence is taken from the reward; loss_type rloo always does
  ValueLossOptions value = {};  // of baseline value
  ImportanceOptions correction = {};
  UpdateOptions update = {};
};

// The names of the rows, in the order of the table.
std::vector<absl::string_view> AlgorithmNames();

// Whether the row's advantages are made with a value function, rather than from rewards (and a divergence).
bool NeedsValues(const AlgorithmRow& row);

// A copy of the row, for the configuration to override. InvalidArgument with the nearest name for an unknown one.
absl::StatusOr<AlgorithmRow> FindAlgorithm(absl::string_view name);

// Whether the divergence from the reference is taken from the reward; otherwise it is added to the loss.
bool KlInReward(const AlgorithmRow& row);

// Sets the weight of the divergence from the reference where the row has it.
void SetBeta(double beta, AlgorithmRow* row);
double Beta(const AlgorithmRow& row);

// The same of what estimates it. In the reward it is k1 unless it is set, in the loss what the row says.
void SetEstimator(KlEstimator estimator, AlgorithmRow* row);
KlEstimator EstimatorOf(const AlgorithmRow& row);

// Sets the loss type, with its own clip and aggregation, together with what it cannot do without: RLOO's ratio of whole
// sequences, and CISPO's cap of the ratio (5), for which epsilon_high means something else than for the others.
void SetLossType(LossType loss_type, AlgorithmRow* row);

// Sets the clip, with CISPO's cap likewise.
void SetClip(Clip clip, AlgorithmRow* row);

// InvalidArgument, with the keys, for choices that exclude each other.
absl::Status ValidateAlgorithm(const AlgorithmRow& row);

}  // namespace reprise::rl

#endif  // RL_ALGORITHM_ALGORITHM_H_
