#include "rl/policy/categorical/categorical_policy.h"

#include <algorithm>
#include <any>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/contract/operands.h"
#include "kernels/lm_head/categorical.h"
#include "rl/policy/categorical/action_rows.h"
#include "rl/policy/categorical/decision_rows.h"

namespace reprise::rl {
namespace {

constexpr double kTanhGain = 5.0 / 3, kReluGain = 1.4142135623730951;
constexpr double kFirstLogits = 0.01;  // gain of the last layer: the first policy is nearly uniform

class CategoricalWorkspace : public PassWorkspace {
 public:
  explicit CategoricalWorkspace(int64_t rows) : max_rows(rows) {}
  int64_t activation_bytes() const override {
    int64_t bytes = 0;
    for (const models::MlpBuffers* buffers : {&actor, &critic}) {
      for (const models::MlpBuffers::Layer& layer : buffers->layers) {
        bytes += static_cast<int64_t>(layer.output.bytes().size() + layer.normal.bytes().size());
      }
    }
    return bytes;
  }

  const int64_t max_rows;
  models::MlpBuffers actor, critic, reference;
};

CategoricalWorkspace& Own(PassWorkspace* workspace) { return static_cast<CategoricalWorkspace&>(*workspace); }

const CategoricalPolicy& OwnKind(const Policy& policy) {
  const auto* const own = dynamic_cast<const CategoricalPolicy*>(&policy);
  CHECK(own != nullptr);
  return *own;
}

models::Mlp Actor(const CategoricalShape& shape, FlatLayout* layout) {
  return models::Mlp({.inputs = shape.features,
                      .hidden = shape.hidden,
                      .outputs = shape.actions,
                      .activation = shape.activation,
                      .layer_norm = shape.layer_norm},
                     "policy", layout);
}

std::optional<models::Mlp> Critic(const CategoricalShape& shape, FlatLayout* layout) {
  if (!shape.has_values) return std::nullopt;
  return models::Mlp({.inputs = shape.features,
                      .hidden = shape.hidden,
                      .outputs = 1,
                      .activation = shape.activation,
                      .layer_norm = shape.layer_norm},
                     "value_model", layout);
}

ActionDistributions DistributionsOf(const models::Mlp& actor, int64_t actions, const DecisionRows& rows,
                                    float temperature, models::MlpBuffers* buffers) {
  ActionDistributions result(rows.count(), actions);
  actor.Forward(rows.features(), result.logits(), buffers);
  kernels::MaskLogits(rows.allowed(), result.logits());
  result.Normalize(temperature);
  return result;
}

}  // namespace

CategoricalPolicy::CategoricalPolicy(CategoricalShape shape, uint64_t seed, float temperature)
    : shape_(std::move(shape)),
      temperature_(temperature),
      actor_(Actor(shape_, &layout_)),
      critic_(Critic(shape_, &layout_)),
      parameters_("parameters", DType::kF32, {layout_.total}) {
  const absl::Span<float> parameters = mutable_parameters();
  std::fill(parameters.begin(), parameters.end(), 0.0f);
  const double hidden = shape_.activation == models::Activation::kTanh ? kTanhGain : kReluGain;
  actor_.Initialize(seed, {.hidden = hidden, .outputs = kFirstLogits}, parameters);
  if (critic_) critic_->Initialize(seed, {.hidden = hidden}, parameters);
  RefreshNetworks();
}

void CategoricalPolicy::RefreshNetworks() {
  actor_.Refresh(parameters());
  if (critic_) critic_->Refresh(parameters());
}

void CategoricalPolicy::Refresh(ThreadPool&, const RangeFunction& change) {
  if (change) change(0, layout_.total);
  RefreshNetworks();
}

void CategoricalPolicy::Logits(absl::Span<const float> feature_RF, absl::Span<const uint8_t> allowed_RA,
                               absl::Span<float> logit_RA) const {
  const int64_t rows = static_cast<int64_t>(feature_RF.size()) / shape_.features;
  const kernels::Rows logits = {logit_RA.data(), rows, shape_.actions};
  models::MlpBuffers buffers;
  actor_.Forward({feature_RF.data(), rows, shape_.features}, logits, &buffers);
  kernels::MaskLogits({allowed_RA.data(), rows, shape_.actions}, logits);
}

std::unique_ptr<Policy> CategoricalPolicy::FrozenCopy() const {
  CategoricalShape shape = shape_;
  shape.has_values = false;
  auto copy = std::make_unique<CategoricalPolicy>(shape, /*seed=*/0, temperature_);
  std::copy_n(parameters().begin(), copy->layout_.total, copy->mutable_parameters().begin());
  copy->RefreshNetworks();
  return copy;
}

FlatLayout CategoricalPolicy::FrozenLayout() const {
  FlatLayout layout;
  Actor(shape_, &layout);
  return layout;
}

void CategoricalPolicy::MoveTowards(const Policy& policy, double alpha, ThreadPool&) {
  const float share = static_cast<float>(alpha), rest = static_cast<float>(1.0 - alpha);
  const absl::Span<const float> from = policy.parameters();
  const absl::Span<float> to = mutable_parameters();
  for (size_t i = 0; i < to.size(); ++i) to[i] = alpha == 1.0 ? from[i] : share * from[i] + rest * to[i];
  RefreshNetworks();
}

bool CategoricalPolicy::SharesWith(const Policy& other) const {
  return std::memcmp(parameters().data(), other.parameters().data(), parameters().size() * sizeof(float)) == 0;
}

std::unique_ptr<PassWorkspace> CategoricalPolicy::NewWorkspace(const PassMemory& memory, const Team&) const {
  return std::make_unique<CategoricalWorkspace>(memory.max_rows);
}

int64_t CategoricalPolicy::RowsOf(const ShardInput& shard) const {
  int64_t rows = 0;
  for (const EpisodeGroup& group : shard) {
    for (const EpisodeRecord* episode : group.episode_G) rows += episode->decisions.count;
  }
  return rows;
}

absl::StatusOr<PassResult> CategoricalPolicy::Accumulate(const ShardPass& pass, const ShardInput& shard,
                                                         const PassTarget& target, PassWorkspace* workspace) const {
  CategoricalWorkspace& own = Own(workspace);
  std::fill_n(target.total, layout_.total, 0.0f);
  PassResult result;
  const std::vector<std::vector<EpisodeRows>> batches = BatchesOf(shard, own.max_rows);
  int64_t first_row = 0;
  for (const std::vector<EpisodeRows>& batch : batches) {
    const DecisionRows rows(batch, shape_.features, shape_.actions);
    const ActionDistributions distributions =
        DistributionsOf(actor_, shape_.actions, rows, pass.temperature, &own.actor);
    std::optional<ActionDistributions> reference;
    if (pass.reference != nullptr) {
      reference =
          DistributionsOf(OwnKind(*pass.reference).actor_, shape_.actions, rows, pass.temperature, &own.reference);
    }
    std::vector<float> value_R(static_cast<size_t>(rows.count()));
    if (pass.value_loss) critic_->Forward(rows.features(), {value_R.data(), rows.count(), 1}, &own.critic);
    ASSIGN_OR_RETURN(const ActionGradients gradients,
                     ApplyLosses(pass, {batch, rows.action(), distributions, reference ? &*reference : nullptr,
                                        std::move(value_R)}));
    const bool last = &batch == &batches.back();
    const kernels::GradientChains chains = {target.total, target.open, first_row, last};
    actor_.Backward(rows.features(), {gradients.dlogit_RA.data(), rows.count(), shape_.actions}, chains, {},
                    &own.actor);
    if (pass.value_loss) {
      critic_->Backward(rows.features(), {gradients.dvalue_R.data(), rows.count(), 1}, chains, {}, &own.critic);
    }
    first_row += rows.count();
    result.counts.completion_rows += rows.count();
    ++result.counts.micro_batches;
  }
  for (size_t spec = layout_.specs.size(); target.finished && !shard.empty() && spec > 0; --spec) {
    target.finished(static_cast<int>(spec) - 1);
  }
  return result;
}

void CategoricalPolicy::Score(const ShardInput& shard, float temperature, const EpisodeScores& receive,
                              PassWorkspace* workspace) const {
  CategoricalWorkspace& own = Own(workspace);
  for (const std::vector<EpisodeRows>& batch : BatchesOf(shard, own.max_rows)) {
    const DecisionRows rows(batch, shape_.features, shape_.actions);
    const ActionScores scores =
        ScoresOf(DistributionsOf(actor_, shape_.actions, rows, temperature, &own.actor), rows.action());
    for (const EpisodeRows& of : batch) receive(of.index, of.Part(scores.logprob_R), of.Part(scores.entropy_R));
  }
}

void CategoricalPolicy::ScoreBehaviour(const ShardInput& shard, const EpisodeNumbers& receive,
                                       PassWorkspace* workspace) const {
  Score(
      shard, temperature_,
      [&](int64_t index, absl::Span<const float> logprob_T, absl::Span<const float>) { receive(index, logprob_T); },
      workspace);
}

void CategoricalPolicy::PredictValues(const ShardInput& shard, bool after_truncation, const EpisodeNumbers& receive,
                                      PassWorkspace* workspace) const {
  CHECK(critic_.has_value());
  CategoricalWorkspace& own = Own(workspace);
  for (const EpisodeGroup& group : shard) {
    for (size_t i = 0; i < group.episode_G.size(); ++i) {
      const EpisodeRecord& episode = *group.episode_G[i];
      const FeatureDecisions& content = DecisionsIn(episode);
      const bool goes_on = after_truncation && !episode.terminated;
      std::vector<float> value_T(static_cast<size_t>(episode.decisions.count + (goes_on ? 1 : 0)));
      const int64_t rows = static_cast<int64_t>(value_T.size());
      CHECK_LE(rows * shape_.features, static_cast<int64_t>(content.feature_TF.size()));
      critic_->Forward({content.feature_TF.data(), rows, shape_.features}, {value_T.data(), rows, 1}, &own.critic);
      receive(group.index_G[i], value_T);
    }
  }
}

std::string CategoricalPolicy::FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const {
  for (const ParameterSpec& spec : layout_.specs) {
    for (int64_t i = 0; i < spec.size; ++i) {
      const float weight = parameters()[static_cast<size_t>(spec.offset + i)];
      if (!std::isfinite(weight)) return absl::StrCat(spec.name, " (element ", i, " is ", weight, ")");
    }
  }
  // A new copy packs the same parameters, so it has other scores only if the packed weights here are corrupted.
  const auto scores = [&](const CategoricalPolicy& policy) {
    const ShardInput shard = {{&task, {&episode}, {0}}};
    const std::unique_ptr<PassWorkspace> workspace = policy.NewWorkspace({}, Team());
    std::vector<float> result;
    const auto append = [&](int64_t, absl::Span<const float> of_T) {
      result.insert(result.end(), of_T.begin(), of_T.end());
    };
    policy.ScoreBehaviour(shard, append, workspace.get());
    if (policy.critic_) policy.PredictValues(shard, /*after_truncation=*/false, append, workspace.get());
    return result;
  };
  CategoricalPolicy copy(shape_, /*seed=*/0, temperature_);
  std::copy(parameters().begin(), parameters().end(), copy.mutable_parameters().begin());
  copy.RefreshNetworks();
  const std::vector<float> own = scores(*this), again = scores(copy);
  const bool same = std::memcmp(own.data(), again.data(), own.size() * sizeof(float)) == 0;
  return same ? "" : "a packed copy of the policy's weights";
}

}  // namespace reprise::rl
