#ifndef RL_POLICY_THOUGHTS_THOUGHT_POLICY_H_
#define RL_POLICY_THOUGHTS_THOUGHT_POLICY_H_

// A model that thinks between the tokens of a text, as a policy (thought_episodes.h): its decisions are the tokens of
// thoughts. Its own loss terms are what thinking is for, and the router's load balancing:
//
//   base_nll_coef  * mean over counted text tokens of -log p(token | the text before it)
//   mixed_nll_coef * mean over counted text tokens that thoughts predict of -log p(token | text, thought), mixed
//
// Means are over all tokens of a step's episodes. In an SFT phase, where the decisions are the text itself, these two
// are not in the loss.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "models/quiet_star/thought_model.h"
#include "models/quiet_star/thought_pass.h"
#include "models/quiet_star/thought_sampler.h"
#include "rl/policy/policy.h"
#include "rl/policy/thoughts/thought_episodes.h"

namespace reprise::rl {

struct ThoughtPolicyOptions {
  int64_t tokens_ahead = 4;  // n_true
  double base_nll_coef = 0.5, mixed_nll_coef = 0.5;
  float delimiter_gradient_weight = 1;
  bool divergence_from_reference = false;  // KL(reference || policy), in place of KL(policy || reference)
  bool dispersion = false;                 // whether ScoreGroups scores that of texts without thoughts
  models::ThoughtSampling sampling = {};   // of training: its temperature is that of the decisions
};

class ThoughtPolicy final : public Policy {
 public:
  // model must have been refreshed before passes.
  ThoughtPolicy(std::unique_ptr<models::ThoughtModel> model, const ThoughtPolicyOptions& options);

  models::ThoughtModel& model() { return *model_; }
  const models::ThoughtModel& model() const { return *model_; }
  const ThoughtPolicyOptions& options() const { return options_; }
  models::ThoughtNetwork network() const { return {model_->decoder(), model_->heads()}; }

  // Calls `receive` for every group, in order, with what the model makes of its text: what rewards are computed from.
  // The bits that Accumulate's losses see for the same parameters.
  using GroupScores = std::function<void(size_t group, const models::ThoughtScores& scores)>;
  void ScoreGroups(const ShardInput& shard, const GroupScores& receive, PassWorkspace* workspace) const;

  const FlatLayout& layout() const override { return model_->layout(); }
  absl::Span<const float> parameters() const override { return model_->parameters(); }
  absl::Span<float> mutable_parameters() override { return model_->mutable_parameters(); }
  void Refresh(ThreadPool& pool, const RangeFunction& change = nullptr) override { model_->Refresh(pool, change); }
  void StartValueFunction(ThreadPool&) override {}
  // The copy shares no parameters with this policy; it shares the packed weights, which the kernels read, until either
  // is refreshed, which gets memory of its own.
  std::unique_ptr<Policy> FrozenCopy() const override;
  FlatLayout FrozenLayout() const override { return models::PolicyPart(model_->layout()); }
  void MoveTowards(const Policy& policy, double alpha, ThreadPool& pool) override;
  bool SharesWith(const Policy& other) const override;

  std::unique_ptr<PassWorkspace> NewWorkspace(const PassMemory& memory, const Team& team) const override;
  int64_t RowsOf(const ShardInput& shard) const override;
  // How often each expert was chosen; then the text tokens that count, and those that thoughts predict. Experts are
  // only counted where load balancing is in the loss.
  std::vector<int64_t> CountShard(const ShardInput& shard, PassWorkspace* workspace) const override;
  size_t num_counts() const override {
    return static_cast<size_t>(model_->config().num_hidden_layers * model_->config().num_experts) + 2;
  }
  int64_t counts_per_layer() const override { return model_->config().num_experts; }
  bool loss_needs_counts() const override { return true; }
  absl::StatusOr<PassResult> Accumulate(const ShardPass& pass, const ShardInput& shard, const PassTarget& target,
                                        PassWorkspace* workspace) const override;
  // text_nll, text_accuracy: without thoughts; mixed_nll, mixed_accuracy: with them; mixing_weight: mean of the mixing
  // head's weights; aux_loss of load balancing.
  Metrics OwnMetrics(const PassTotals& totals, absl::Span<const double> sum_M) const override;
  int64_t ClipAttention(absl::Span<const float> largest_logits, double threshold) override;
  void Score(const ShardInput& shard, float temperature, const EpisodeScores& receive,
             PassWorkspace* workspace) const override;
  void ScoreBehaviour(const ShardInput& shard, const EpisodeNumbers& receive, PassWorkspace* workspace) const override;
  void PredictValues(const ShardInput& shard, bool after_truncation, const EpisodeNumbers& receive,
                     PassWorkspace* workspace) const override;
  std::string FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const override;

 private:
  models::ThoughtPassOptions PassOptions(float temperature) const;

  const std::unique_ptr<models::ThoughtModel> model_;
  const ThoughtPolicyOptions options_;
};

}  // namespace reprise::rl

#endif  // RL_POLICY_THOUGHTS_THOUGHT_POLICY_H_
