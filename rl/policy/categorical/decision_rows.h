#ifndef RL_POLICY_CATEGORICAL_DECISION_ROWS_H_
#define RL_POLICY_CATEGORICAL_DECISION_ROWS_H_

// The decisions of episodes as rows of a batch.

#include <cstdint>
#include <vector>

#include "kernels/contract/operands.h"
#include "models/heads/actor_critic.h"
#include "models/heads/feature_norm.h"
#include "rl/policy/categorical/action_rows.h"
#include "rl/policy/categorical/categorical_policy.h"

namespace reprise::rl {

// Returns the episode's content. Another type of content, or another number of actions than decisions, is a failed
// check.
const FeatureDecisions& DecisionsIn(const EpisodeRecord& episode);

// The features, masks and actions of a batch's decisions, one row for each. An episode is a sequence.
class DecisionRows {
 public:
  // norm: how features are normalised; null: they are not.
  DecisionRows(const std::vector<EpisodeRows>& batch, int64_t features, int64_t actions,
               const models::FeatureNorm* norm);

  int64_t count() const { return static_cast<int64_t>(action_R_.size()); }
  models::SequenceRows sequences() const { return {{feature_RF_.data(), count(), features_}, length_S_}; }
  kernels::RowView<const uint8_t> allowed() const { return {allowed_RA_.data(), count(), actions_}; }
  const int32_t* action() const { return action_R_.data(); }

 private:
  const int64_t features_, actions_;
  std::vector<int64_t> length_S_;
  std::vector<float> feature_RF_;
  std::vector<uint8_t> allowed_RA_;
  std::vector<int32_t> action_R_;
};

}  // namespace reprise::rl

#endif  // RL_POLICY_CATEGORICAL_DECISION_ROWS_H_
