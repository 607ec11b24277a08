#include "rl/policy/encoder/encoder_policy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "kernels/embedding/embedding.h"
#include "models/decoder/attention.h"
#include "models/decoder/corruption.h"
#include "models/decoder/load_balancing.h"
#include "rl/policy/encoder/encoder_pass.h"
#include "rl/policy/encoder/text_passes.h"

namespace reprise::rl {
namespace {

TextWorkspace& Own(PassWorkspace* workspace) { return static_cast<TextWorkspace&>(*workspace); }

const EncoderPolicy& AsEncoderPolicy(const Policy& policy) {
  const auto* const own = dynamic_cast<const EncoderPolicy*>(&policy);
  CHECK(own != nullptr);
  return *own;
}

// Returns for each of row_N the row of x_UW, [U, width].
std::vector<float> Gather(const std::vector<float>& x_UW, int64_t width, absl::Span<const int32_t> row_N) {
  const int64_t rows = static_cast<int64_t>(row_N.size());
  std::vector<float> x_NW(static_cast<size_t>(rows * width));
  kernels::Embed(row_N.data(), x_UW.data(), {x_NW.data(), rows, width});
  return x_NW;
}

}  // namespace

EncoderPolicy::EncoderPolicy(const models::DecoderConfig& encoder, const EncoderShape& shape, const Sampling& sampling,
                             models::DecoderLayout layout, bool training)
    : shape_(shape),
      sampling_(sampling),
      heads_(encoder.hidden_size, shape, &layout),
      model_(models::Model::CreateEncoder(encoder, std::move(layout), training)) {}

absl::StatusOr<std::unique_ptr<EncoderPolicy>> EncoderPolicy::Create(models::DecoderConfig encoder,
                                                                     const EncoderShape& shape, float temperature,
                                                                     uint64_t dropout_seed) {
  RETURN_IF_ERROR(models::ValidateDecoderConfig(encoder));
  if (shape.actions < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("a policy chooses among at least 2 actions, but there are ", shape.actions));
  }
  encoder.value_model = models::ValueModel::kNone;
  return std::unique_ptr<EncoderPolicy>(new EncoderPolicy(encoder, shape, {temperature, dropout_seed},
                                                          models::EncoderLayout(encoder), /*training=*/true));
}

void EncoderPolicy::InitializeEncoder(uint64_t seed) {
  const models::DecoderLayout own = models::EncoderLayout(encoder());
  models::InitializeParameters(encoder(), own, seed, mutable_parameters().first(static_cast<size_t>(own.total)));
}

void EncoderPolicy::InitializeHeads(uint64_t seed) { heads_.Initialize(seed, mutable_parameters()); }

absl::Status EncoderPolicy::CheckText(absl::Span<const int32_t> text_S) const {
  const models::DecoderConfig& config = encoder();
  if (text_S.empty()) {
    return absl::InvalidArgumentError("the text is empty: only a text of at least one token can be encoded");
  }
  if (static_cast<int64_t>(text_S.size()) > config.max_position_embeddings) {
    return absl::InvalidArgumentError(absl::StrCat("the text has ", text_S.size(), " tokens, but the encoder has only ",
                                                   config.max_position_embeddings, " positions: truncate the text"));
  }
  for (size_t t = 0; t < text_S.size(); ++t) {
    if (text_S[t] >= 0 && text_S[t] < config.vocab_size) continue;
    return absl::InvalidArgumentError(absl::StrCat("token ", t, " of the text is ", text_S[t],
                                                   ", but the encoder's vocabulary has ", config.vocab_size,
                                                   " tokens, from 0: use the encoder's tokenizer"));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueTexts> EncoderPolicy::CheckedTexts(absl::Span<const std::vector<int32_t>> text_NS) const {
  UniqueTexts texts;
  for (size_t n = 0; n < text_NS.size(); ++n) {
    RETURN_IF_ERROR(WithContext(CheckText(text_NS[n]), absl::StrCat("text ", n, " of ", text_NS.size())));
    texts.Add(text_NS[n]);
  }
  return texts;
}

absl::StatusOr<std::vector<float>> EncoderPolicy::Encode(absl::Span<const std::vector<int32_t>> text_NS,
                                                         PassWorkspace* workspace) const {
  ASSIGN_OR_RETURN(const UniqueTexts texts, CheckedTexts(text_NS));
  return Gather(EncodeTexts(model_->decoder(), texts, &Own(workspace)), heads_.width(), texts.text_of_decision());
}

absl::Status EncoderPolicy::ActionLogits(const kernels::ConstRows& embedding_ND, const kernels::Rows& logit_NA) const {
  if (embedding_ND.width != heads_.width()) {
    return absl::InvalidArgumentError(absl::StrCat("the action head reads embeddings of width ", heads_.width(),
                                                   ", but these have width ", embedding_ND.width,
                                                   ": encode texts with the policy's own encoder"));
  }
  EncoderHeadBuffers buffers;
  heads_.Logits(embedding_ND, logit_NA, &buffers);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> EncoderPolicy::Logits(absl::Span<const std::vector<int32_t>> text_NS,
                                                         PassWorkspace* workspace,
                                                         const std::optional<TextDropout>& dropout) const {
  ASSIGN_OR_RETURN(UniqueTexts texts, CheckedTexts(text_NS));
  texts.DropAt(dropout);
  const std::vector<float> embedding_UD = EncodeTexts(model_->decoder(), texts, &Own(workspace));
  std::vector<float> logit_UA(static_cast<size_t>(texts.texts() * shape_.actions));
  RETURN_IF_ERROR(ActionLogits({embedding_UD.data(), texts.texts(), heads_.width()},
                               {logit_UA.data(), texts.texts(), shape_.actions}));
  return Gather(logit_UA, shape_.actions, texts.text_of_decision());
}

int64_t EncoderPolicy::EncodedTexts(const PassWorkspace& workspace) {
  return static_cast<const TextWorkspace&>(workspace).encoded_texts;
}

void EncoderPolicy::Refresh(ThreadPool& pool, const RangeFunction& change) {
  model_->Refresh(pool, change);
  heads_.Refresh(parameters());
  if (kept_ != nullptr) kept_->Clear();
}

std::unique_ptr<Policy> EncoderPolicy::FrozenCopy() const {
  const EncoderShape shape = {.actions = shape_.actions};
  models::DecoderConfig config = encoder();
  config.lora.dropout = 0;
  std::unique_ptr<EncoderPolicy> copy(
      new EncoderPolicy(config, shape, sampling_, models::EncoderLayout(config), /*training=*/false));
  std::copy_n(parameters().begin(), copy->layout().total, copy->mutable_parameters().begin());
  CHECK(copy->model_->ShareIfEqual(*model_));
  copy->heads_.Refresh(copy->parameters());
  copy->kept_ = std::make_unique<TextLogits>(shape.actions);
  return copy;
}

void EncoderPolicy::MoveTowards(const Policy& policy, double alpha, ThreadPool& pool) {
  const float share = static_cast<float>(alpha), rest = static_cast<float>(1.0 - alpha);
  const absl::Span<const float> from = policy.parameters();
  const absl::Span<float> to = mutable_parameters();
  for (size_t i = 0; i < to.size(); ++i) to[i] = alpha == 1.0 ? from[i] : share * from[i] + rest * to[i];
  if (!model_->ShareIfEqual(*AsEncoderPolicy(policy).model_)) model_->Refresh(pool);
  heads_.Refresh(parameters());
  if (kept_ != nullptr) kept_->Clear();
}

bool EncoderPolicy::SharesWith(const Policy& other) const { return model_->SharesWith(*AsEncoderPolicy(other).model_); }

std::unique_ptr<PassWorkspace> EncoderPolicy::NewWorkspace(const PassMemory& memory, const Team& team) const {
  return std::make_unique<TextWorkspace>(encoder(), memory, team);
}

size_t EncoderPolicy::num_counts() const {
  return loss_needs_counts() ? static_cast<size_t>(encoder().num_hidden_layers * encoder().num_experts) : 0;
}

std::vector<int64_t> EncoderPolicy::CountShard(const ShardInput& shard, PassWorkspace* workspace) const {
  std::vector<int64_t> count_LE(num_counts());
  if (count_LE.empty()) return count_LE;
  EncodeTexts(
      model_->decoder(), TextsOf(network(), shard), &Own(workspace),
      [&](const models::Activations& activations) { models::AddExpertCounts(activations, absl::MakeSpan(count_LE)); });
  return count_LE;
}

absl::StatusOr<PassResult> EncoderPolicy::Accumulate(const ShardPass& pass, const ShardInput& shard,
                                                     const PassTarget& target, PassWorkspace* workspace) const {
  // The experts' shares are those of the whole step's rows; the mean is over the update's rows.
  const PassTotals& totals = pass.totals;
  const double balance = totals.learns && loss_needs_counts() ? encoder().router_aux_loss_coef * totals.part() : 0;
  const models::AuxiliaryGradient auxiliary_E =
      models::LoadBalancingGradient(encoder(), balance, totals.count_C, totals.step_rows);
  const UniqueTexts texts = TextsOf(network(), shard);
  // The reference comes first, because the workspace keeps the last forward pass for the backward pass.
  std::optional<ActionDistributions> reference_U;
  if (pass.reference != nullptr && texts.texts() > 0) {
    reference_U = AsEncoderPolicy(*pass.reference).DistributionsAfter(texts, shard, pass.temperature, workspace);
  }
  return AccumulateDecisions(network(), texts, reference_U ? &*reference_U : nullptr, auxiliary_E, pass, shard, target,
                             &Own(workspace));
}

Metrics EncoderPolicy::OwnMetrics(const PassTotals& totals, absl::Span<const double> sum_M) const {
  if (!loss_needs_counts()) return {};
  const std::vector<double> probability_sum_E(sum_M.begin(), sum_M.end());
  return {{"aux_loss",
           models::LoadBalancingLoss(encoder(), totals.count_C, probability_sum_E, totals.step_rows) * totals.part()}};
}

int64_t EncoderPolicy::ClipAttention(absl::Span<const float> largest_logits, double threshold) {
  return models::ClipAttention(encoder(), model_->layout(), largest_logits, threshold, mutable_parameters());
}

ActionDistributions EncoderPolicy::DistributionsAfter(const UniqueTexts& texts, const ShardInput& shard,
                                                      float temperature, PassWorkspace* workspace) const {
  TextWorkspace& own = Own(workspace);
  if (kept_ == nullptr) {
    return ComputeDistributions(network(), EncodeTexts(model_->decoder(), texts, &own), temperature, &own);
  }
  ActionDistributions distributions_U(texts.texts(), shape_.actions);
  const std::vector<float> logit_UA = kept_->Get(shard.front(), texts, [&](const UniqueTexts& missing) {
    const std::vector<float> embedding_MD = EncodeTexts(model_->decoder(), missing, &own);
    std::vector<float> logit_MA(static_cast<size_t>(missing.texts() * shape_.actions));
    heads_.Logits({embedding_MD.data(), missing.texts(), heads_.width()},
                  {logit_MA.data(), missing.texts(), shape_.actions}, &own.heads);
    return logit_MA;
  });
  std::copy(logit_UA.begin(), logit_UA.end(), distributions_U.logits().data);
  distributions_U.Normalize(temperature);
  return distributions_U;
}

void EncoderPolicy::Score(const ShardInput& shard, float temperature, const EpisodeScores& receive,
                          PassWorkspace* workspace) const {
  if (shard.empty()) return;
  const UniqueTexts texts = TextsOf(network(), shard);
  const ActionDistributions distributions_U = DistributionsAfter(texts, shard, temperature, workspace);
  const std::vector<int32_t> action_R = ActionsIn(shard);
  const ActionScores scores = SelectScores(distributions_U.Select(texts.text_of_decision()), action_R.data());
  for (const std::vector<EpisodeRows>& batch : SplitIntoBatches(shard, /*max_rows=*/0)) {
    for (const EpisodeRows& of : batch) receive(of.index, of.Part(scores.logprob_R), of.Part(scores.entropy_R));
  }
}

void EncoderPolicy::ScoreBehaviour(const ShardInput& shard, const EpisodeNumbers& receive,
                                   PassWorkspace* workspace) const {
  Score(
      shard, sampling_.temperature,
      [&](int64_t index, absl::Span<const float> logprob_T, absl::Span<const float>) { receive(index, logprob_T); },
      workspace);
}

void EncoderPolicy::PredictValues(const ShardInput& shard, bool after_truncation, const EpisodeNumbers& receive,
                                  PassWorkspace* workspace) const {
  CHECK(heads_.has_values());
  TextWorkspace& own = Own(workspace);
  const UniqueTexts texts = TextsOf(network(), shard, after_truncation);
  const std::vector<float> value_U = ValuesOf(network(), EncodeTexts(model_->decoder(), texts, &own), &own);
  const std::vector<float> value_R = Gather(value_U, 1, texts.text_of_decision());
  absl::Span<const float> left = value_R;
  for (const EpisodeGroup& group : shard) {
    for (size_t i = 0; i < group.episode_G.size(); ++i) {
      const size_t states = CountStates(*group.episode_G[i], after_truncation);
      receive(group.index_G[i], left.first(states));
      left.remove_prefix(states);
    }
  }
}

std::string EncoderPolicy::FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const {
  TextWorkspace work(encoder(), {}, Team());
  const UniqueTexts texts(ShardInput{{&task, {&episode}, {0}}});
  const std::vector<float> embedding_UD = EncodeTexts(model_->decoder(), texts, &work);
  std::string found = models::FindCorruption(*model_, work.batch);
  if (!found.empty()) return found;
  // A new copy packs the same parameters, so it has other results only if the packed weights here are corrupted.
  models::DecoderLayout layout = models::EncoderLayout(encoder());
  EncoderHeads copy(heads_.width(), shape_, &layout);
  copy.Refresh(parameters());
  const kernels::ConstRows rows = {embedding_UD.data(), texts.texts(), heads_.width()};
  const auto results = [&](const EncoderHeads& heads) {
    const size_t logits = static_cast<size_t>(rows.rows * shape_.actions), values = static_cast<size_t>(rows.rows);
    std::vector<float> result(logits + values);
    heads.Logits(rows, {result.data(), rows.rows, shape_.actions}, &work.heads);
    if (heads.has_values()) heads.Values(rows, result.data() + logits, &work.heads);
    return result;
  };
  const std::vector<float> own = results(heads_), again = results(copy);
  const bool same = std::memcmp(own.data(), again.data(), own.size() * sizeof(float)) == 0;
  return same ? "" : "a packed copy of the heads' weights";
}

}  // namespace reprise::rl
