#include "rl/gradient/updater.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/digest/sha256_batch.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "rl/record/wire.h"
#include "rl/schedule/gradient_clip.h"

namespace reprise::rl {
namespace {

ShardMap OneRank(const ShardMap& shards) {
  absl::StatusOr<ShardMap> map = ShardMap::Create(shards.shards(), 1);
  CHECK(map.ok());
  return *std::move(map);
}

std::vector<bool> DecaysOf(const std::vector<ParameterUnit>& units, const FlatLayout& layout, bool matrices_only) {
  std::vector<bool> decays;
  for (const ParameterUnit& unit : units) {
    decays.push_back(!matrices_only || layout.specs[static_cast<size_t>(unit.spec)].shape.size() > 1);
  }
  return decays;
}

}  // namespace

Updater::Updater(models::Model& model, const ShardMap& shards, const AdamWOptions& options, const PassMemory& memory,
                 const ExchangeOptions& exchange, Communicator& comm, ThreadPool& pool)
    : model_(model),
      options_(options),
      all_(comm),
      comm_(exchange.in_any_order ? static_cast<Communicator&>(alone_) : comm),
      pool_(pool),
      units_(MakeParameterUnits(model.layout())),
      decays_(DecaysOf(units_, model.layout(), options.decays_matrices_only)),
      exchange_(MakeTreeExchange(units_, exchange.in_any_order ? OneRank(shards) : shards, exchange, &comm_)),
      gradient_(model, shards, units_, memory, exchange, comm, exchange_, pool) {
  Reset();
}

void Updater::Reset() {
  adamw_ = std::make_unique<ShardedAdamW>(exchange_.ownership(), comm_.rank());
  updates_ = 0;
}

void Updater::Restore(absl::Span<const float> first, absl::Span<const float> second, int64_t updates) {
  adamw_->SetMoments(first, second);
  updates_ = updates;
}

absl::Status Updater::Apply(double gradient_norm, double learning_rate, absl::string_view rate_key) {
  ++updates_;
  const kernels::AdamWStep step =
      kernels::MakeAdamWStep(learning_rate, options_.beta1, options_.beta2, options_.epsilon, options_.weight_decay,
                             updates_, GradientClipFactor(gradient_norm, options_.max_grad_norm));
  const absl::Span<float> parameters = model_.mutable_parameters();
  if (comm_.size() == 1) {  // weights can be packed without an exchange
    std::atomic<bool> is_sound = true;
    model_.Refresh(pool_, [&](int64_t first, int64_t size) {
      if (!adamw_->UpdateRange(step, decays_, gradient_.reduced(), parameters, {first, size})) is_sound = false;
    });
    return AgreeOk(all_, is_sound ? absl::OkStatus() : DamageOf(learning_rate, rate_key));
  }
  const bool is_sound = adamw_->Update(step, decays_, gradient_.reduced(), parameters, pool_);
  RETURN_IF_ERROR(AgreeOk(all_, is_sound ? absl::OkStatus() : DamageOf(learning_rate, rate_key)));
  RETURN_IF_ERROR(exchange_.AllgatherOwned(parameters));
  model_.Refresh(pool_);
  return absl::OkStatus();
}

absl::Status Updater::DamageOf(double learning_rate, absl::string_view rate_key) const {
  const std::optional<ShardedAdamW::Damage> damage = adamw_->FindCorruption(model_.parameters());
  if (!damage)
    return absl::InternalError("an invalid number of the update is valid when it is read again: memory is corrupted");
  const ParameterSpec& spec =
      model_.layout().specs[static_cast<size_t>(units_[static_cast<size_t>(damage->tensor)].spec)];
  return absl::InternalError(absl::StrCat(
      "the update makes ", damage->name, damage->name.empty() ? "" : " of ", "element ", damage->place - spec.offset,
      " of ", spec.name, " ", damage->value, ", so this step is discarded: lower ", rate_key, " (", learning_rate,
      " in this step), or raise optimizer.epsilon (", options_.epsilon, ")"));
}

absl::StatusOr<Updater::Digests> Updater::DigestTensors() {
  const absl::Span<const Piece> mine = exchange_.ownership().PiecesOf(comm_.rank());
  std::vector<absl::Span<const std::byte>> tensors_of_mine;  // all gradients, then all weights
  for (const absl::Span<const float> flat : {absl::Span<const float>(gradient_.reduced()), model_.parameters()}) {
    for (const Piece& piece : mine) {
      tensors_of_mine.push_back(
          AsBytes(flat.subspan(static_cast<size_t>(piece.offset), static_cast<size_t>(piece.size))));
    }
  }
  const std::vector<Digest> digests = Sha256Batch(tensors_of_mine, pool_);
  WireWriter writer;
  for (size_t i = 0; i < mine.size(); ++i) {
    writer.Put<int64_t>(mine[i].tensor);
    writer.Put(digests[i]);
    writer.Put(digests[mine.size() + i]);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, GatherBytes(comm_, 0, writer.bytes()));
  if (comm_.rank() != 0) return Digests();
  std::vector<Digest> gradient(units_.size()), weights(units_.size());
  for (const std::string& bytes : all) {
    for (WireReader reader(bytes); !reader.done();) {
      const size_t unit = static_cast<size_t>(reader.Get<int64_t>());
      gradient[unit] = reader.Get<Digest>();
      weights[unit] = reader.Get<Digest>();
    }
  }
  const size_t tensors = model_.layout().specs.size();
  return Digests{TensorDigests(units_, gradient, tensors), TensorDigests(units_, weights, tensors)};
}

absl::Status Updater::GatherMoments(absl::Span<float> first, absl::Span<float> second) {
  adamw_->CopyMoments(first, second);
  RETURN_IF_ERROR(exchange_.AllgatherOwned(first));
  return exchange_.AllgatherOwned(second);
}

}  // namespace reprise::rl
