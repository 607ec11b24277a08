#ifndef RL_ALGORITHM_ALGORITHM_H_
#define RL_ALGORITHM_ALGORITHM_H_

// An algorithm is a row of choices over the pieces of rl/advantage and rl/loss. A new algorithm is a new row.

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rl/advantage/advantages.h"
#include "rl/loss/options.h"

namespace reprise::rl {

struct AlgorithmRow {
  absl::string_view name;
  absl::string_view source;  // where the choices come from
  AdvantageOptions advantage = {};
  LossOptions loss = {};
};

// The names of all rows, in the order of the table.
std::vector<absl::string_view> AlgorithmNames();

// A copy of the row, for the configuration to override. InvalidArgument with the nearest name for an unknown one.
absl::StatusOr<AlgorithmRow> FindAlgorithm(absl::string_view name);

// Sets the weight of the divergence from the reference where the row has it: RLOO takes it from the reward, the others
// add it to the loss.
void SetBeta(double beta, AlgorithmRow* row);
double Beta(const AlgorithmRow& row);

// Sets the loss type together with what it cannot do without: RLOO's ratio of whole sequences, and CISPO's cap of the
// ratio (5), for which epsilon_high means something else than for the others.
void SetLossType(LossType loss_type, AlgorithmRow* row);

}  // namespace reprise::rl

#endif  // RL_ALGORITHM_ALGORITHM_H_
