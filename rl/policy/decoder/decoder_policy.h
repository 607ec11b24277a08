#ifndef RL_POLICY_DECODER_DECODER_POLICY_H_
#define RL_POLICY_DECODER_DECODER_POLICY_H_

// The decoder as a policy: an episode is a completion of a prompt, a decision is a token of it. Its own counts are how
// often each expert was chosen, its own loss term is the router's load balancing (models/decoder/load_balancing.h).

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/decoder/model.h"
#include "models/generation/generate.h"
#include "rl/policy/decoder/group_batch.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

class DecoderPolicy final : public Policy {
 public:
  // sampling: of training. model must outlive this.
  DecoderPolicy(models::Model& model, const models::GenerateOptions& sampling) : model_(model), sampling_(sampling) {}

  // Returns the model of a policy that is a DecoderPolicy (checked).
  static const models::Model& ModelOf(const Policy& policy);

  const FlatLayout& layout() const override { return model_.layout(); }
  absl::Span<const float> parameters() const override { return model_.parameters(); }
  absl::Span<float> mutable_parameters() override { return model_.mutable_parameters(); }
  void Refresh(ThreadPool& pool, const RangeFunction& change) override { model_.Refresh(pool, change); }
  // A value network starts from the language model's weights.
  void StartValueFunction(ThreadPool& pool) override;
  // The copy owns its parameters; it shares the packed weights, which the kernels read, with this policy until either
  // is refreshed. With adapters it shares the frozen language model for ever, and drops nothing.
  std::unique_ptr<Policy> FrozenCopy() const override;
  FlatLayout FrozenLayout() const override { return models::PolicyPart(model_.layout()); }
  void MoveTowards(const Policy& policy, double alpha, ThreadPool& pool) override;
  bool SharesWith(const Policy& other) const override { return model_.SharesWith(ModelOf(other)); }

  std::unique_ptr<PassWorkspace> NewWorkspace(const PassMemory& memory, const Team& team) const override;
  int64_t RowsOf(const ShardInput& shard) const override;
  std::vector<int64_t> CountShard(const ShardInput& shard, PassWorkspace* workspace) const override;
  size_t num_counts() const override {
    return static_cast<size_t>(model_.config().num_hidden_layers * model_.config().num_experts);
  }
  int64_t counts_per_layer() const override { return model_.config().num_experts; }
  bool loss_needs_counts() const override { return model_.config().router_aux_loss_coef != 0.0; }
  absl::StatusOr<PassResult> Accumulate(const ShardPass& pass, const ShardInput& shard, const PassTarget& target,
                                        PassWorkspace* workspace) const override;
  std::vector<std::pair<std::string, double>> OwnMetrics(const PassTotals& totals,
                                                         absl::Span<const double> sum_M) const override;
  int64_t ClipAttention(absl::Span<const float> largest_logits, double threshold) override;
  void Score(const ShardInput& shard, float temperature, const EpisodeScores& receive,
             PassWorkspace* workspace) const override;
  void ScoreBehaviour(const ShardInput& shard, const EpisodeNumbers& receive, PassWorkspace* workspace) const override;
  void PredictValues(const ShardInput& shard, bool after_truncation, const EpisodeNumbers& receive,
                     PassWorkspace* workspace) const override;
  std::string FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const override;

 private:
  DecoderPolicy(std::unique_ptr<models::Model> model, const models::GenerateOptions& sampling)
      : owned_(std::move(model)), model_(*owned_), sampling_(sampling) {}
  std::vector<TrainingGroup> MakeTrainingGroups(const ShardInput& shard) const;

  const std::unique_ptr<models::Model> owned_;  // of a frozen copy; else null
  models::Model& model_;
  const models::GenerateOptions sampling_;
};

// Describes the first corruption of the model, found with the episode (Policy::FindCorruption).
std::string FindCorruption(const models::Model& model, const TaskRecord& task, const EpisodeRecord& episode);

}  // namespace reprise::rl

#endif  // RL_POLICY_DECODER_DECODER_POLICY_H_
