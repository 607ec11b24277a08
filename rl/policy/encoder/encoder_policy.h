#ifndef RL_POLICY_ENCODER_ENCODER_POLICY_H_
#define RL_POLICY_ENCODER_ENCODER_POLICY_H_

// A policy whose decisions are choices among a fixed number of actions, by a text that describes the state. The decoder
// without lm-head encodes the text: its embedding is the mean of the last hidden states (after the final norm) over all
// tokens. An action head computes the logits of the actions from it, Linear(D, D/2) -> ReLU -> Linear(D/2, actions); a
// second head of the same shape, with one output, is the value function.
//
// An embedding depends on its text alone. Texts of a shard that are equal token by token are one text: they are encoded
// once, and what their decisions add to its gradient is added in order of episodes and decisions. So micro-batches,
// which divide the distinct texts, change no bit. The policy's own loss term is the router's load balancing
// (models/decoder/load_balancing.h); its rows are the tokens of the shards' distinct texts.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "kernels/contract/operands.h"
#include "models/decoder/model.h"
#include "rl/policy/encoder/encoder_heads.h"
#include "rl/policy/encoder/encoder_pass.h"
#include "rl/policy/encoder/text_decisions.h"
#include "rl/policy/encoder/text_logits.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

class EncoderPolicy final : public Policy {
 public:
  // All parameters are 0 until the caller sets them and calls Refresh. The encoder's come first, in the order of
  // models::EncoderLayout(encoder), and are initialised by InitializeEncoder or read by models::LoadWeights; the heads'
  // are behind them. With adapters (encoder.lora) these are the encoder's parameters, and LoadBase must read the frozen
  // encoder. temperature: that of sampling. dropout_seed: the run's, of which the dropout of adapters' inputs is a
  // function. The configuration's value_model and tie_word_embeddings do not matter. InvalidArgument if it is not
  // valid, or if there are fewer than two actions.
  static absl::StatusOr<std::unique_ptr<EncoderPolicy>> Create(models::DecoderConfig encoder, const EncoderShape& shape,
                                                               float temperature, uint64_t dropout_seed = 0);

  // With adapters, once: reads the frozen encoder, in the order of models::TrunkLayout(encoder). Errors of `read`.
  absl::Status LoadBase(ThreadPool& pool, const models::TensorReader& read) { return model_->LoadBase(pool, read); }

  // Set the initial parameters of the encoder and of the heads, each a pure function of shape and seed. A new action
  // head is nearly uniform.
  void InitializeEncoder(uint64_t seed);
  void InitializeHeads(uint64_t seed);

  const models::DecoderConfig& encoder() const { return model_->config(); }
  const EncoderShape& shape() const { return shape_; }

  // InvalidArgument for a text without tokens, one that is longer than the encoder's positions (the caller truncates),
  // and a token that is not in the vocabulary. Texts must be checked where they enter: passes CHECK them.
  absl::Status CheckText(absl::Span<const int32_t> text_S) const;

  // Returns the embeddings [texts, D]. Each distinct text is encoded once. Errors: those of CheckText. The workspace
  // (of NewWorkspace) divides the texts into micro-batches; thread-safe with one for each thread.
  absl::StatusOr<std::vector<float>> Encode(absl::Span<const std::vector<int32_t>> text_NS,
                                            PassWorkspace* workspace) const;

  // Computes the logits [rows, actions] from embeddings [rows, D]: the bits that decisions are drawn from, and that
  // passes compute. InvalidArgument, naming both, if the embeddings have another width than the head reads.
  absl::Status ActionLogits(const kernels::ConstRows& embedding_ND, const kernels::Rows& logit_NA) const;

  // Returns the logits [texts, actions] of texts, as Encode and then ActionLogits; with `dropout` those of passes over
  // the episodes of its step.
  absl::StatusOr<std::vector<float>> Logits(absl::Span<const std::vector<int32_t>> text_NS, PassWorkspace* workspace,
                                            const std::optional<TextDropout>& dropout = std::nullopt) const;

  // Returns how many texts the workspace's passes have encoded by forward passes, those of references included;
  // repetitions for the backward pass are not counted.
  static int64_t EncodedTexts(const PassWorkspace& workspace);

  const FlatLayout& layout() const override { return model_->layout(); }
  absl::Span<const float> parameters() const override { return model_->parameters(); }
  absl::Span<float> mutable_parameters() override { return model_->mutable_parameters(); }
  void Refresh(ThreadPool& pool, const RangeFunction& change = nullptr) override;
  void StartValueFunction(ThreadPool&) override {}
  // The copy owns its parameters; it shares the encoder's packed weights, which the kernels read, with this policy
  // until either is refreshed, which gets memory of its own. With adapters it shares the frozen encoder for ever,
  // and drops nothing. Score and passes that have it as reference compute each distinct text of a step once, until the
  // copy is refreshed.
  std::unique_ptr<Policy> FrozenCopy() const override;
  FlatLayout FrozenLayout() const override { return models::PolicyPart(model_->layout()); }
  void MoveTowards(const Policy& policy, double alpha, ThreadPool& pool) override;
  bool SharesWith(const Policy& other) const override;

  std::unique_ptr<PassWorkspace> NewWorkspace(const PassMemory& memory, const Team& team) const override;
  // Those of the texts of all decisions, although a pass computes a text once: how many decisions of a shard read the
  // same one depends on which prompts are dealt to it.
  int64_t RowsOf(const ShardInput& shard) const override { return UniqueTexts(shard).tokens_read(); }
  std::vector<int64_t> CountShard(const ShardInput& shard, PassWorkspace* workspace) const override;
  // 0 where load balancing is not in the loss, so that no pass is made to count.
  size_t num_counts() const override;
  int64_t counts_per_layer() const override { return encoder().num_experts; }
  bool loss_needs_counts() const override { return model_->config().router_aux_loss_coef != 0.0; }
  absl::StatusOr<PassResult> Accumulate(const ShardPass& pass, const ShardInput& shard, const PassTarget& target,
                                        PassWorkspace* workspace) const override;
  Metrics OwnMetrics(const PassTotals& totals, absl::Span<const double> sum_M) const override;
  int64_t ClipAttention(absl::Span<const float> largest_logits, double threshold) override;
  void Score(const ShardInput& shard, float temperature, const EpisodeScores& receive,
             PassWorkspace* workspace) const override;
  // Passes the log-probabilities of Score, because sampling is never filtered.
  void ScoreBehaviour(const ShardInput& shard, const EpisodeNumbers& receive, PassWorkspace* workspace) const override;
  void PredictValues(const ShardInput& shard, bool after_truncation, const EpisodeNumbers& receive,
                     PassWorkspace* workspace) const override;
  std::string FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const override;

 private:
  struct Sampling {
    float temperature;
    uint64_t dropout_seed;
  };
  // layout: of the encoder; the heads append their tensors.
  EncoderPolicy(const models::DecoderConfig& encoder, const EncoderShape& shape, const Sampling& sampling,
                models::DecoderLayout layout, bool training);

  EncoderNetwork network() const { return {*model_, heads_, sampling_.dropout_seed}; }
  absl::StatusOr<UniqueTexts> CheckedTexts(absl::Span<const std::vector<int32_t>> text_NS) const;
  // Returns the distributions over actions after each text of a shard, at least one.
  ActionDistributions DistributionsAfter(const UniqueTexts& texts, const ShardInput& shard, float temperature,
                                         PassWorkspace* workspace) const;

  const EncoderShape shape_;
  const Sampling sampling_;
  EncoderHeads heads_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<TextLogits> kept_;  // of a frozen copy; else null
};

}  // namespace reprise::rl

#endif  // RL_POLICY_ENCODER_ENCODER_POLICY_H_
