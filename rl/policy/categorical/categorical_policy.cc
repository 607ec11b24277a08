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

class CategoricalWorkspace : public PassWorkspace {
 public:
  explicit CategoricalWorkspace(int64_t rows) : max_rows(rows) {}
  int64_t activation_bytes() const override { return network.bytes(); }

  const int64_t max_rows;
  models::ActorCriticBuffers network, reference;
};

CategoricalWorkspace& Own(PassWorkspace* workspace) { return static_cast<CategoricalWorkspace&>(*workspace); }

const CategoricalPolicy& AsCategoricalPolicy(const Policy& policy) {
  const auto* const own = dynamic_cast<const CategoricalPolicy*>(&policy);
  CHECK(own != nullptr);
  return *own;
}

models::ActorCriticShape NetworkShape(const CategoricalShape& shape) {
  return {.features = shape.features,
          .actions = shape.actions,
          .trunk = shape.trunk,
          .lstm = shape.lstm,
          .lstm_chunk = shape.lstm_chunk,
          .hidden = shape.hidden,
          .activation = shape.activation,
          .layer_norm = shape.layer_norm,
          .has_values = shape.has_values};
}

std::optional<models::FeatureNorm> Norm(const CategoricalShape& shape, FlatLayout* layout) {
  if (!shape.normalizes_features) return std::nullopt;
  return models::FeatureNorm(shape.features, "features", layout);
}

}  // namespace

CategoricalPolicy::CategoricalPolicy(CategoricalShape shape, float temperature)
    : shape_(std::move(shape)),
      temperature_(temperature),
      norm_(Norm(shape_, &layout_)),
      network_(NetworkShape(shape_), &layout_),
      parameters_("parameters", DType::kF32, {layout_.total}) {
  const absl::Span<float> parameters = mutable_parameters();
  std::fill(parameters.begin(), parameters.end(), 0.0f);
}

CategoricalPolicy::CategoricalPolicy(CategoricalShape shape, uint64_t seed, float temperature)
    : CategoricalPolicy(std::move(shape), temperature) {
  const auto kind = shape_.orthogonal ? models::InitialWeights::kOrthogonal : models::InitialWeights::kNormal;
  if (norm_) norm_->Initialize(mutable_parameters());
  network_.Initialize(seed, kind, mutable_parameters());
  RefreshNetworks();
}

void CategoricalPolicy::RefreshNetworks() {
  if (norm_) norm_->Refresh(parameters());
  network_.Refresh(parameters());
}

void CategoricalPolicy::Refresh(ThreadPool&, const RangeFunction& change) {
  if (change) change(0, layout_.total);
  RefreshNetworks();
}

void CategoricalPolicy::Logits(absl::Span<const float> feature_RF, absl::Span<const uint8_t> allowed_RA,
                               absl::Span<float> logit_RA) const {
  const int64_t rows = static_cast<int64_t>(feature_RF.size()) / shape_.features;
  std::vector<float> normalized(feature_RF.begin(), feature_RF.end());
  const kernels::Rows x = {normalized.data(), rows, shape_.features}, logits = {logit_RA.data(), rows, shape_.actions};
  if (norm_) norm_->Apply(x, x);
  const std::vector<int64_t> length_S(static_cast<size_t>(rows), 1);
  models::ActorCriticBuffers buffers;
  network_.Forward({x, length_S}, logits, {}, &buffers);
  kernels::MaskLogits({allowed_RA.data(), rows, shape_.actions}, logits);
}

void CategoricalPolicy::NextLogits(absl::Span<const float> feature_F, absl::Span<const uint8_t> allowed_A,
                                   models::LstmState* memory, absl::Span<float> logit_A) const {
  CHECK_EQ(static_cast<int64_t>(feature_F.size()), shape_.features);
  CHECK_EQ(static_cast<int64_t>(allowed_A.size()), shape_.actions);
  CHECK_EQ(static_cast<int64_t>(logit_A.size()), shape_.actions);
  std::vector<float> normalized(feature_F.begin(), feature_F.end());
  const kernels::Rows x = {normalized.data(), 1, shape_.features}, logits = {logit_A.data(), 1, shape_.actions};
  if (norm_) norm_->Apply(x, x);
  network_.Next(x, memory, logits);
  kernels::MaskLogits({allowed_A.data(), 1, shape_.actions}, logits);
}

ActionDistributions CategoricalPolicy::ComputeDistributions(const DecisionRows& rows, float temperature,
                                                            const kernels::Rows& values,
                                                            models::ActorCriticBuffers* buffers) const {
  ActionDistributions result(rows.count(), shape_.actions);
  network_.Forward(rows.sequences(), result.logits(), values, buffers);
  kernels::MaskLogits(rows.allowed(), result.logits());
  result.Normalize(temperature);
  result.CountChoices(rows.allowed(), shape_.normalizes_entropy);
  return result;
}

std::unique_ptr<Policy> CategoricalPolicy::FrozenCopy() const {
  CategoricalShape shape = shape_;
  shape.has_values = false;
  std::unique_ptr<CategoricalPolicy> copy(new CategoricalPolicy(shape, temperature_));
  std::copy_n(parameters().begin(), copy->layout_.total, copy->mutable_parameters().begin());
  copy->RefreshNetworks();
  return copy;
}

FlatLayout MakeCategoricalLayout(const CategoricalShape& shape) {
  FlatLayout layout;
  Norm(shape, &layout);
  models::ActorCritic(NetworkShape(shape), &layout);
  return layout;
}

FlatLayout CategoricalPolicy::FrozenLayout() const {
  CategoricalShape shape = shape_;
  shape.has_values = false;
  return MakeCategoricalLayout(shape);
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
  const std::vector<std::vector<EpisodeRows>> batches = SplitIntoBatches(shard, own.max_rows);
  int64_t first_row = 0;
  for (const std::vector<EpisodeRows>& batch : batches) {
    const DecisionRows rows(batch, shape_.features, shape_.actions, norm());
    std::optional<ActionDistributions> reference;
    if (pass.reference != nullptr) {
      const CategoricalPolicy& other = AsCategoricalPolicy(*pass.reference);
      const DecisionRows seen(batch, shape_.features, shape_.actions, other.norm());
      reference = other.ComputeDistributions(seen, pass.temperature, {}, &own.reference);
    }
    std::vector<float> value_R(static_cast<size_t>(rows.count()));
    const kernels::Rows values = {pass.value_loss ? value_R.data() : nullptr, rows.count(), 1};
    const ActionDistributions distributions = ComputeDistributions(rows, pass.temperature, values, &own.network);
    ASSIGN_OR_RETURN(const ActionGradients gradients,
                     ApplyLosses(pass, {batch, rows.action(), distributions, reference ? &*reference : nullptr,
                                        std::move(value_R)}));
    const kernels::GradientChains chains = {target.total, target.open, first_row, &batch == &batches.back()};
    network_.Backward(rows.sequences(), {gradients.dlogit_RA.data(), rows.count(), shape_.actions},
                      {pass.value_loss ? gradients.dvalue_R.data() : nullptr, rows.count(), 1}, chains, &own.network);
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
  for (const std::vector<EpisodeRows>& batch : SplitIntoBatches(shard, own.max_rows)) {
    const DecisionRows rows(batch, shape_.features, shape_.actions, norm());
    const ActionScores scores = SelectScores(ComputeDistributions(rows, temperature, {}, &own.network), rows.action());
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
  CategoricalWorkspace& own = Own(workspace);
  for (const EpisodeGroup& group : shard) {
    for (size_t i = 0; i < group.episode_G.size(); ++i) {
      const EpisodeRecord& episode = *group.episode_G[i];
      const FeatureDecisions& content = DecisionsIn(episode);
      const bool goes_on = after_truncation && !episode.terminated;
      std::vector<float> value_T(static_cast<size_t>(episode.decisions.count + (goes_on ? 1 : 0)));
      const int64_t rows = static_cast<int64_t>(value_T.size());
      CHECK_LE(rows * shape_.features, static_cast<int64_t>(content.feature_TF.size()));
      std::vector<float> feature_TF(content.feature_TF.begin(), content.feature_TF.begin() + rows * shape_.features);
      const kernels::Rows x = {feature_TF.data(), rows, shape_.features};
      if (norm_) norm_->Apply(x, x);
      network_.Forward({x, {&rows, 1}}, {}, {value_T.data(), rows, 1}, &own.network);
      receive(group.index_G[i], value_T);
    }
  }
}

std::vector<double> CategoricalPolicy::Observe(const EpisodeRecord& episode) const {
  const FeatureDecisions& content = DecisionsIn(episode);
  std::vector<double> numbers;
  for (const kernels::Moments& moments :
       models::FeatureNorm::Observe({content.feature_TF.data(), episode.decisions.count, shape_.features})) {
    numbers.insert(numbers.end(), {moments.count, moments.mean, moments.squares});
  }
  return numbers;
}

void CategoricalPolicy::TakeObservations(const std::vector<std::vector<double>>& of_episode_N, ThreadPool&) {
  std::vector<kernels::Moments> step_F(static_cast<size_t>(shape_.features));
  for (const std::vector<double>& numbers : of_episode_N) {
    CHECK_EQ(numbers.size(), 3 * step_F.size());
    for (size_t f = 0; f < step_F.size(); ++f) {
      step_F[f] = kernels::Merge(step_F[f], {numbers[3 * f], numbers[3 * f + 1], numbers[3 * f + 2]});
    }
  }
  if (step_F[0].count == 0) return;  // no episode has a decision
  norm_->Move(step_F, mutable_parameters());
  RefreshNetworks();
}

std::string CategoricalPolicy::FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const {
  for (const ParameterSpec& spec : layout_.specs) {
    for (int64_t i = 0; i < spec.size; ++i) {
      const float weight = parameters()[spec.offset + i];
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
    if (shape_.has_values) policy.PredictValues(shard, /*after_truncation=*/false, append, workspace.get());
    return result;
  };
  CategoricalPolicy copy(shape_, temperature_);
  std::copy(parameters().begin(), parameters().end(), copy.mutable_parameters().begin());
  copy.RefreshNetworks();
  const std::vector<float> own = scores(*this), again = scores(copy);
  const bool same = std::memcmp(own.data(), again.data(), own.size() * sizeof(float)) == 0;
  return same ? "" : "a packed copy of the policy's weights";
}

}  // namespace reprise::rl
