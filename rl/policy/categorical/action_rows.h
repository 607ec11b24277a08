#ifndef RL_POLICY_CATEGORICAL_ACTION_ROWS_H_
#define RL_POLICY_CATEGORICAL_ACTION_ROWS_H_

// Choices among actions as rows of a batch: which rows are an episode's, the distributions of the rows, and the losses
// of their scores.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/contract/operands.h"
#include "kernels/lm_head/categorical.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

// An episode in a batch: the rows [begin, begin + count).
struct EpisodeRows {
  const EpisodeRecord* episode = nullptr;
  int64_t index = 0;  // EpisodeGroup::index_G
  int64_t begin = 0, count = 0;

  template <typename T>
  auto Part(T& values_R) const {
    return absl::MakeSpan(values_R).subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
  }
};

// Returns the shard's episodes, in order, in batches of at most max_rows decisions; a longer episode is a batch of its
// own. max_rows 0: all are one batch.
std::vector<std::vector<EpisodeRows>> SplitIntoBatches(const ShardInput& shard, int64_t max_rows);

// The distributions over actions of some rows.
class ActionDistributions {
 public:
  ActionDistributions(int64_t rows, int64_t actions);

  kernels::Rows logits() { return {z_RA_.data(), rows(), actions_}; }  // the caller assigns them, then calls Normalize
  void Normalize(float temperature);

  // After Normalize: takes the numbers of allowed actions from the masks. With divides_entropies the entropy of each
  // row is divided by the logarithm of its number, so that it is within [0, 1]: 1 where these actions are equally
  // probable, 0 where there is one. Gradients of entropies are then those with respect to the quotients. The floor of
  // an entropy's weight is multiplied by min(3, ln actions / ln allowed), by 1 where one is allowed.
  void CountChoices(const kernels::RowView<const uint8_t>& allowed, bool divides_entropies);

  // After Normalize: the distributions of the rows row_R of this.
  ActionDistributions Select(absl::Span<const int32_t> row_R) const;

  int64_t rows() const { return static_cast<int64_t>(statistics_R_.size()); }
  int64_t actions() const { return actions_; }
  float entropy(int64_t row) const;
  float entropy_scale(int64_t row) const { return scale_R_.empty() ? 1.0f : scale_R_[row]; }
  const std::vector<float>& floor_scale_R() const { return floor_scale_R_; }  // empty before CountChoices
  kernels::CategoricalRows view() const { return {{z_RA_.data(), rows(), actions_}, statistics_R_.data()}; }

 private:
  int64_t actions_;
  std::vector<float> z_RA_;
  std::vector<kernels::RowStatistics> statistics_R_;
  std::vector<float> scale_R_;        // of entropies; empty: 1
  std::vector<float> floor_scale_R_;  // of the floors of their weights
};

// The scores of the rows' chosen actions.
struct ActionScores {
  std::vector<float> logprob_R, entropy_R;
};

ActionScores SelectScores(const ActionDistributions& distributions, const int32_t* action_R);

// The rows of a batch's decisions.
struct ScoredActions {
  const std::vector<EpisodeRows>& episodes;
  const int32_t* action_R;
  const ActionDistributions& policy;
  const ActionDistributions* reference;  // null: none
  std::vector<float> value_R;            // where the pass has a value loss
};

struct ActionGradients {
  std::vector<float> dlogit_RA;  // with respect to the logits before Normalize
  std::vector<float> dvalue_R;   // 0 where the pass has no value loss
};

// Calls the pass's losses for the episodes, in order, and returns the gradients. Errors: the first of a loss.
absl::StatusOr<ActionGradients> ApplyLosses(const ShardPass& pass, const ScoredActions& rows);

}  // namespace reprise::rl

#endif  // RL_POLICY_CATEGORICAL_ACTION_ROWS_H_
