#include "rl/gradient/updater.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/gather_rows.h"
#include "core/digest/sha256_batch.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "rl/schedule/gradient_clip.h"

namespace reprise::rl {
namespace {

ShardMap OneRank(const ShardMap& shards) {
  absl::StatusOr<ShardMap> map = ShardMap::Create(shards.shards(), 1);
  CHECK(map.ok());
  return *std::move(map);
}

}  // namespace

Updater::Updater(Policy& policy, const ShardMap& shards, std::unique_ptr<ShardedOptimizer> optimizer,
                 double max_grad_norm, const PassMemory& memory, const ExchangeOptions& exchange, Communicator& comm,
                 ThreadPool& pool)
    : policy_(policy),
      optimizer_(std::move(optimizer)),
      max_grad_norm_(max_grad_norm),
      all_(comm),
      comm_(exchange.in_any_order ? static_cast<Communicator&>(alone_) : comm),
      pool_(pool),
      units_(MakeParameterUnits(policy.layout())),
      exchange_(MakeTreeExchange(units_, exchange.in_any_order ? OneRank(shards) : shards, exchange, &comm_)),
      owned_(OwnedUnits(comm_.rank(), exchange_.ownership(), units_)),
      gradient_(policy, shards, units_, memory, exchange, comm, exchange_, pool) {
  Reset();
}

void Updater::Reset() {
  optimizer_->Reset(policy_.layout(), owned_);
  updates_ = 0;
}

void Updater::Restore(const std::vector<FlatGroup>& state, int64_t updates) {
  const std::vector<std::string> names = optimizer_->groups();
  CHECK_EQ(state.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    CHECK_EQ(state[i].name, names[i]);
    optimizer_->SetGroup(i, state[i].values);
  }
  updates_ = updates;
}

absl::Status Updater::Apply(double gradient_norm, double learning_rate, absl::string_view rate_key,
                            const std::function<void()>& adjust) {
  const OptimizerStep step = {++updates_, learning_rate, GradientClipFactor(gradient_norm, max_grad_norm_),
                              gradient_.reduced(), policy_.mutable_parameters()};
  std::atomic<bool> is_sound = true;
  const auto update = [&](int64_t first, int64_t size) {
    if (!optimizer_->Update(step, {first, size})) is_sound = false;
  };
  // Where no exchange comes between, weights are packed by the thread that updates them, while they are in cache.
  const bool packs = comm_.size() == 1 && optimizer_->is_elementwise() && adjust == nullptr;
  if (packs) {
    policy_.Refresh(pool_, update);
  } else {
    pool_.ForEach(static_cast<int64_t>(owned_.size()), [&](int64_t index, int) {
      const ParameterUnit& unit = owned_[index];
      update(unit.offset, unit.size);
    });
  }
  RETURN_IF_ERROR(AgreeOk(all_, is_sound ? absl::OkStatus() : CorruptionError(learning_rate, rate_key)));
  if (packs) return absl::OkStatus();
  RETURN_IF_ERROR(exchange_.AllgatherOwned(policy_.mutable_parameters()));
  if (adjust != nullptr) adjust();
  policy_.Refresh(pool_);
  return absl::OkStatus();
}

absl::Status Updater::CorruptionError(double learning_rate, absl::string_view rate_key) const {
  const std::optional<ShardedOptimizer::Damage> damage = optimizer_->FindCorruption(policy_.parameters());
  if (!damage)
    return absl::InternalError("an invalid number of the update is valid when it is read again: memory is corrupted");
  const ParameterSpec& spec = policy_.layout().specs[damage->spec];
  return absl::InternalError(absl::StrCat("the update makes ", damage->of, "element ", damage->place - spec.offset,
                                          " of ", spec.name, " ", damage->value, ", so this step is discarded: lower ",
                                          rate_key, " (", learning_rate, " in this step), or ", damage->remedy));
}

namespace {

struct UnitDigests {
  int64_t unit;
  Digest gradient, weights;
};

}  // namespace

absl::StatusOr<Updater::Digests> Updater::DigestTensors() {
  const absl::Span<const Piece> mine = exchange_.ownership().PiecesOf(comm_.rank());
  std::vector<absl::Span<const std::byte>> tensors_of_mine;  // all gradients, then all weights
  for (const absl::Span<const float> flat : {absl::Span<const float>(gradient_.reduced()), policy_.parameters()}) {
    for (const Piece& piece : mine) {
      tensors_of_mine.push_back(
          AsBytes(flat.subspan(static_cast<size_t>(piece.offset), static_cast<size_t>(piece.size))));
    }
  }
  const std::vector<Digest> digests = Sha256Batch(tensors_of_mine, pool_);
  std::vector<UnitDigests> rows;
  for (size_t i = 0; i < mine.size(); ++i) {
    rows.push_back({mine[i].tensor, digests[i], digests[mine.size() + i]});
  }
  ASSIGN_OR_RETURN(const std::vector<UnitDigests> all, GatherRows(comm_, 0, std::move(rows)));
  if (comm_.rank() != 0) return Digests();
  std::vector<Digest> gradient(units_.size()), weights(units_.size());
  for (const UnitDigests& of : all) {
    gradient[of.unit] = of.gradient;
    weights[of.unit] = of.weights;
  }
  const size_t tensors = policy_.layout().specs.size();
  return Digests{TensorDigests(units_, gradient, tensors), TensorDigests(units_, weights, tensors)};
}

absl::StatusOr<std::vector<FlatGroup>> Updater::GatherState() {
  std::vector<FlatGroup> state;
  for (const std::string& name : optimizer_->groups()) {
    FlatGroup group = {name, std::vector<float>(static_cast<size_t>(policy_.layout().total))};
    optimizer_->CopyGroup(state.size(), absl::MakeSpan(group.values));
    RETURN_IF_ERROR(exchange_.AllgatherOwned(absl::MakeSpan(group.values)));
    state.push_back(std::move(group));
  }
  return state;
}

}  // namespace reprise::rl
