#ifndef RL_POLICY_CATEGORICAL_CATEGORICAL_POLICY_H_
#define RL_POLICY_CATEGORICAL_CATEGORICAL_POLICY_H_

// A policy whose decisions are choices among a fixed number of actions, some of which may not be allowed: a multi-layer
// perceptron gives the logits from the features of a state. Its value function is a second perceptron.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "core/tensor/tensor.h"
#include "models/heads/mlp.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

// The content of an episode (EpisodeRecord::content).
struct FeatureDecisions {
  std::vector<float> feature_TF;  // [T, features]; of a truncated episode [T + 1, features]: and of the state after it
  std::vector<uint8_t> allowed_TA;  // [T, actions]; at least one action of each row
  std::vector<int32_t> action_T;    // the chosen ones
};

struct CategoricalShape {
  int64_t features = 1, actions = 2;
  std::vector<int64_t> hidden = {};  // the widths of the hidden layers
  models::Activation activation = models::Activation::kRelu;
  bool layer_norm = false;
  bool has_values = false;

  bool operator==(const CategoricalShape&) const = default;
};

// Every decision is a row, which depends on that row alone; rows of a shard are in the order of its episodes.
class CategoricalPolicy : public Policy {
 public:
  // Sets the initial parameters, a pure function of shape and seed, and refreshes. temperature: of sampling.
  CategoricalPolicy(CategoricalShape shape, uint64_t seed, float temperature);

  const CategoricalShape& shape() const { return shape_; }

  // Computes the logits of actions that are allowed, and of others a logit that is never drawn (kMaskedLogit).
  // features [rows, features], allowed [rows, actions], logits [rows, actions].
  void Logits(absl::Span<const float> feature_RF, absl::Span<const uint8_t> allowed_RA,
              absl::Span<float> logit_RA) const;

  const FlatLayout& layout() const override { return layout_; }
  absl::Span<const float> parameters() const override { return parameters_.data<float>(); }
  absl::Span<float> mutable_parameters() override { return parameters_.mutable_data<float>(); }
  void Refresh(ThreadPool& pool, const RangeFunction& change = nullptr) override;
  void StartValueFunction(ThreadPool&) override {}
  std::unique_ptr<Policy> FrozenCopy() const override;
  FlatLayout FrozenLayout() const override;
  void MoveTowards(const Policy& policy, double alpha, ThreadPool& pool) override;
  bool SharesWith(const Policy& other) const override;

  std::unique_ptr<PassWorkspace> NewWorkspace(const PassMemory& memory, const Team& team) const override;
  int64_t RowsOf(const EpisodeGroup& group) const override;
  std::vector<int64_t> CountShard(const ShardInput&, PassWorkspace*) const override { return {}; }
  size_t num_counts() const override { return 0; }
  bool loss_needs_counts() const override { return false; }
  absl::StatusOr<PassResult> Accumulate(const ShardPass& pass, const ShardInput& shard, const PassTarget& target,
                                        PassWorkspace* workspace) const override;
  Metrics OwnMetrics(const PassTotals&, absl::Span<const double>) const override { return {}; }
  void Score(const ShardInput& shard, float temperature, const EpisodeScores& receive,
             PassWorkspace* workspace) const override;
  // Sampling is never filtered: the log-probabilities of Score.
  void ScoreBehaviour(const ShardInput& shard, const EpisodeNumbers& receive, PassWorkspace* workspace) const override;
  void PredictValues(const ShardInput& shard, bool after_truncation, const EpisodeNumbers& receive,
                     PassWorkspace* workspace) const override;
  std::string FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const override;

 private:
  void RefreshNetworks();

  const CategoricalShape shape_;
  const float temperature_;
  FlatLayout layout_;
  models::Mlp actor_;
  std::optional<models::Mlp> critic_;
  Tensor parameters_;
};

}  // namespace reprise::rl

#endif  // RL_POLICY_CATEGORICAL_CATEGORICAL_POLICY_H_
