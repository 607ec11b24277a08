#ifndef RL_POLICY_CATEGORICAL_CATEGORICAL_POLICY_H_
#define RL_POLICY_CATEGORICAL_CATEGORICAL_POLICY_H_

// A policy whose decisions are choices among a fixed number of actions, some of which may not be allowed. A network
// computes the logits of the actions from the features of a state, and the state's value (models/heads/actor_critic.h).

#include <any>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "core/tensor/tensor.h"
#include "models/heads/actor_critic.h"
#include "models/heads/feature_norm.h"
#include "models/heads/lstm.h"
#include "models/heads/mlp.h"
#include "rl/policy/categorical/action_rows.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

// The content of an episode (EpisodeRecord::content) of T decisions.
struct FeatureDecisions {
  // [T, features], of the state before each decision. A truncated episode has a row more, of the state after its last
  // decision, where a value function continues its returns.
  std::vector<float> feature_TF = {};
  std::vector<uint8_t> allowed_TA = {};  // [T, actions], 1 where an action is allowed, else 0; at least one of a row is
  std::vector<int32_t> action_T = {};    // [T], the chosen actions, counted from 0
  std::any origin = {};                  // what the workload knows of the episode besides
};

struct CategoricalShape {
  int64_t features = 1, actions = 2;
  std::vector<int64_t> hidden = {};  // the widths of the hidden layers of the actor, and of those of the value function
  models::Activation activation = models::Activation::kRelu;
  bool layer_norm = false;
  bool has_values = false;           // whether there is a value function
  std::vector<int64_t> trunk = {};   // the widths of hidden layers that both share, before their own
  int64_t lstm = 0;                  // the width of an LSTM behind the trunk, which remembers the episode; 0: none
  int64_t lstm_chunk = 25;           // decisions through which its gradient flows back
  bool orthogonal = false;           // whether initial weights are orthogonal, otherwise normal
  bool normalizes_features = false;  // by running statistics of the features of earlier steps
  // Whether the entropy of a decision is divided by the logarithm of the number of its allowed actions, so that it is
  // within [0, 1]; that of a single allowed action is 0.
  bool normalizes_entropy = false;

  bool operator==(const CategoricalShape&) const = default;
};

// Returns the layout of the parameters of a policy of this shape, which it does not make.
FlatLayout MakeCategoricalLayout(const CategoricalShape& shape);

class DecisionRows;

// Every decision is a row of a batch. Its scores depend on that row alone, with an LSTM also on the episode's earlier
// rows. Gradients are chains over a shard's rows in the order of its episodes, continued from micro-batch to
// micro-batch. Statistics of features are parameters, of the kind that is not learned.
class CategoricalPolicy : public Policy {
 public:
  // Sets the initial parameters, a pure function of shape and seed, and packs them as Refresh does. temperature: that
  // of sampling.
  CategoricalPolicy(CategoricalShape shape, uint64_t seed, float temperature);

  const CategoricalShape& shape() const { return shape_; }

  // Computes the logits [rows, actions] from features [rows, features] and masks [rows, actions]. Actions that are not
  // allowed have kMaskedLogit (kernels/lm_head/categorical.h): they are never drawn. Each row is the first decision of
  // an episode. Thread-safe.
  void Logits(absl::Span<const float> feature_RF, absl::Span<const uint8_t> allowed_RA,
              absl::Span<float> logit_RA) const;

  // Computes the logits of the next decision of an episode that is being played, with the bits of a pass over the whole
  // episode. memory: of the episode's earlier decisions, new before its first one. Thread-safe.
  void NextLogits(absl::Span<const float> feature_F, absl::Span<const uint8_t> allowed_A, models::LstmState* memory,
                  absl::Span<float> logit_A) const;

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
  int64_t RowsOf(const ShardInput& shard) const override;
  std::vector<int64_t> CountShard(const ShardInput&, PassWorkspace*) const override { return {}; }
  size_t num_counts() const override { return 0; }
  int64_t counts_per_layer() const override { return 0; }
  bool loss_needs_counts() const override { return false; }
  absl::StatusOr<PassResult> Accumulate(const ShardPass& pass, const ShardInput& shard, const PassTarget& target,
                                        PassWorkspace* workspace) const override;
  Metrics OwnMetrics(const PassTotals&, absl::Span<const double>) const override { return {}; }
  void Score(const ShardInput& shard, float temperature, const EpisodeScores& receive,
             PassWorkspace* workspace) const override;
  // Passes the log-probabilities of Score, because sampling is never filtered.
  void ScoreBehaviour(const ShardInput& shard, const EpisodeNumbers& receive, PassWorkspace* workspace) const override;
  void PredictValues(const ShardInput& shard, bool after_truncation, const EpisodeNumbers& receive,
                     PassWorkspace* workspace) const override;
  // Where features are normalised: the moments of an episode's, three numbers for each feature.
  std::vector<double> Observe(const EpisodeRecord& episode) const override;
  void TakeObservations(const std::vector<std::vector<double>>& of_episode_N, ThreadPool& pool) override;
  bool observes() const override { return norm_.has_value(); }
  std::string FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const override;

 private:
  // Without initial parameters: all are 0, and Refresh must follow.
  CategoricalPolicy(CategoricalShape shape, float temperature);

  const models::FeatureNorm* norm() const { return norm_ ? &*norm_ : nullptr; }
  ActionDistributions ComputeDistributions(const DecisionRows& rows, float temperature, const kernels::Rows& values,
                                           models::ActorCriticBuffers* buffers) const;
  void RefreshNetworks();

  const CategoricalShape shape_;
  const float temperature_;
  FlatLayout layout_;
  std::optional<models::FeatureNorm> norm_;
  models::ActorCritic network_;
  Tensor parameters_;
};

}  // namespace reprise::rl

#endif  // RL_POLICY_CATEGORICAL_CATEGORICAL_POLICY_H_
