#include "models/morphogenesis/network_session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ATen/Version.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/status_macros.h"
#include "models/morphogenesis/guarded.h"
#include "models/morphogenesis/life_cycle/blueprints.h"
#include "models/morphogenesis/networks/autograd_node.h"
#include "torch/version.h"

namespace reprise::models {
namespace {

absl::Status CheckSgd(absl::string_view whose, const SgdOptions& options) {
  for (const double value : {options.learning_rate, options.momentum, options.weight_decay}) {
    if (std::isfinite(value) && value >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("the ", whose, "'s learning rate, momentum and weight decay are ",
                                                   options.learning_rate, ", ", options.momentum, " and ",
                                                   options.weight_decay, ", but must be finite and not negative"));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const SessionOptions& options, const EpisodeCoordinates& episode) {
  RETURN_IF_ERROR(ValidateHostShape(options.task.shape));
  RETURN_IF_ERROR(CheckSgd("host", options.host_sgd));
  RETURN_IF_ERROR(CheckSgd("seed", options.seed_sgd));
  if (episode.step >> 32 != 0 || episode.prompt >> 24 != 0 || episode.sample >> 16 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("an episode's step, prompt and sample are ", episode.step, ", ",
                                                   episode.prompt, " and ", episode.sample,
                                                   ", but must be below 2^32, 2^24 and 2^16"));
  }
  if (options.task.max_epochs < 1 || options.slot.embargo_epochs < 0) {
    return absl::InvalidArgumentError(absl::StrCat("an episode has ", options.task.max_epochs,
                                                   " epochs (at least 1) and an embargo of ",
                                                   options.slot.embargo_epochs, " (at least 0)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> FindPoint(const HostShape& shape, const std::string& slot_id) {
  const std::vector<InjectionPoint> points = InjectionPoints(shape);
  std::vector<std::string> names;
  for (size_t i = 0; i < points.size(); ++i) {
    if (slot_id.empty() || points[i].slot_id == slot_id) return i;
    names.push_back(points[i].slot_id);
  }
  return absl::NotFoundError(absl::StrCat("Unknown slot '", slot_id, "'. Available: ", absl::StrJoin(names, ", ")));
}

SlotOptions OptionsOf(const SessionOptions& options) {
  SlotOptions slot = options.slot;
  slot.SetDurations(options.task);
  return slot;
}

at::Tensor CopyOf(const at::Tensor& tensor) {
  at::Tensor copy = NewLike(tensor);
  std::copy_n(Data(tensor), tensor.numel(), MutableData(copy));
  return copy;
}

}  // namespace

SessionParts::SessionParts(SessionOptions session_options, const EpisodeCoordinates& coordinates, size_t slot_point)
    : options(std::move(session_options)),
      episode(coordinates),
      point(slot_point),
      host(BuildHost(options.task.shape, episode)),
      slot(options.task.shape.topology, InjectionPoints(options.task.shape)[point], OptionsOf(options)),
      host_sgd(host->parameters(), options.host_sgd) {}

NamedTensors SessionParts::HostTensors() const {
  NamedTensors tensors;
  for (const NamedTensor& t : host->parameters()) tensors.push_back({"host." + t.name, t.tensor});
  for (const NamedTensor& t : host->buffers()) tensors.push_back({"host." + t.name, t.tensor});
  for (const NamedTensor& t : host_sgd.momentum()) tensors.push_back({"momentum.host." + t.name, t.tensor});
  return tensors;
}

Sgd* SessionParts::SeedSgd() {
  if (seed_sgd == nullptr) seed_sgd = std::make_unique<Sgd>(slot.seed_parameters(), options.seed_sgd);
  return seed_sgd.get();
}

extern "C" __attribute__((visibility("default"))) absl::StatusOr<std::unique_ptr<HostSession>> RepriseCreateHostSession(
    SessionOptions options, const EpisodeCoordinates& episode) {
  RETURN_IF_ERROR(CheckOptions(options, episode));
  ASSIGN_OR_RETURN(const size_t point, FindPoint(options.task.shape, options.slot_id));
  return Guarded([&]() -> absl::StatusOr<std::unique_ptr<HostSession>> {
    return std::make_unique<NetworkSession>(std::make_unique<SessionParts>(std::move(options), episode, point));
  });
}

absl::StatusOr<EpochTraining> NetworkSession::TrainOneEpoch(absl::Span<const HostBatch> batches,
                                                            bool collect_gradients) {
  return Guarded([&]() -> absl::StatusOr<EpochTraining> {
    SessionParts& s = *impl_;
    RETURN_IF_ERROR(CheckBatches(*s.host, batches));
    if (s.slot.stage() == Stage::kGerminated) {
      const GateResult gate = s.slot.AdvanceStage(Stage::kTraining);
      if (!gate.passed) return absl::FailedPreconditionError(absl::StrCat("G1 gate failed: ", gate.message));
    }
    EpochOptions options;
    options.host_sgd = &s.host_sgd;
    options.seed_sgd = s.slot.IsLearning() ? s.SeedSgd() : nullptr;
    options.collect_gradients = collect_gradients && s.slot.IsLearning();
    options.episode = s.episode;
    options.first_batch = static_cast<uint64_t>(s.batches);
    ASSIGN_OR_RETURN(const EpochTraining result, TrainEpoch(s.network(), batches, options));
    s.batches += result.batches;
    s.slot.SetEpoch(++s.epochs);
    return result;
  });
}

absl::StatusOr<HostEvaluation> NetworkSession::Evaluate(absl::Span<const HostBatch> batches,
                                                        std::optional<double> forced_alpha) {
  if (forced_alpha.has_value() && !(*forced_alpha >= 0 && *forced_alpha <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("a forced alpha of ", *forced_alpha, ": it must be 0 to 1"));
  }
  return Guarded([&]() -> absl::StatusOr<HostEvaluation> {
    std::optional<ForcedAlpha> forced;
    if (forced_alpha.has_value()) forced.emplace(&impl_->slot, *forced_alpha);
    return EvaluateNetwork(impl_->network(), batches);
  });
}

void NetworkSession::RecordAccuracy(double accuracy) {
  impl_->accuracy = accuracy;
  if (SeedState* const seed = impl_->slot.seed()) seed->metrics.RecordAccuracy(accuracy);
}

void NetworkSession::SetCounterfactual(double contribution) {
  if (SeedState* const seed = impl_->slot.seed()) seed->metrics.counterfactual_contribution = contribution;
}

absl::StatusOr<GateResult> NetworkSession::Germinate(absl::string_view blueprint, absl::string_view seed_id) {
  ASSIGN_OR_RETURN(const Blueprint found, FindBlueprint(impl_->options.task.shape.topology, blueprint));
  return Guarded([&]() -> absl::StatusOr<GateResult> {
    ASSIGN_OR_RETURN(const GateResult gate,
                     impl_->slot.Germinate(found, std::string(seed_id), impl_->accuracy, impl_->episode));
    if (gate.passed) impl_->seed_sgd.reset();
    return gate;
  });
}

GateResult NetworkSession::AdvanceStage(std::optional<Stage> target) {
  const GateResult gate = impl_->slot.AdvanceStage(target);
  if (impl_->slot.seed() == nullptr) impl_->seed_sgd.reset();
  return gate;
}

bool NetworkSession::Cull(absl::string_view reason) {
  const absl::StatusOr<bool> culled = impl_->slot.Cull(reason);
  impl_->seed_sgd.reset();
  return culled.ok() && *culled;
}

void NetworkSession::StepEpoch() { impl_->slot.StepEpoch(); }

const SeedState* NetworkSession::seed() const { return impl_->slot.seed(); }
Stage NetworkSession::slot_stage() const { return impl_->slot.stage(); }
int NetworkSession::embargo_remaining() const { return impl_->slot.embargo_remaining(); }
const std::string& NetworkSession::slot_id() const { return impl_->slot.point().slot_id; }
int64_t NetworkSession::slot_channels() const { return impl_->slot.point().channels; }
int64_t NetworkSession::epochs() const { return impl_->epochs; }
int NetworkSession::seeds_germinated() const { return impl_->slot.seeds_germinated(); }
int64_t NetworkSession::host_params() const { return ElementsOf(impl_->host->parameters()); }
int64_t NetworkSession::active_seed_params() const { return impl_->slot.active_seed_params(); }
int64_t NetworkSession::fossil_params() const { return impl_->slot.fossil_params(); }

std::vector<std::string> NetworkSession::fossils() const {
  std::vector<std::string> names;
  for (const Fossil& fossil : impl_->slot.fossils()) names.push_back(fossil.blueprint.name);
  return names;
}

std::vector<SlotEvent> NetworkSession::TakeEvents() { return impl_->slot.TakeEvents(); }

absl::StatusOr<std::shared_ptr<const HostSnapshot>> NetworkSession::TakeSnapshot() const {
  return Guarded([&]() -> absl::StatusOr<std::shared_ptr<const HostSnapshot>> {
    auto snapshot = std::make_shared<NetworkSnapshot>();
    for (const NamedTensor& t : impl_->HostTensors()) snapshot->tensors.push_back({t.name, CopyOf(t.tensor)});
    snapshot->fossils = impl_->slot.fossils();
    return snapshot;
  });
}

absl::Status NetworkSession::Rollback(const HostSnapshot& of_session, absl::string_view reason) {
  const auto& snapshot = static_cast<const NetworkSnapshot&>(of_session);
  return Guarded([&]() -> absl::Status {
    const NamedTensors now = impl_->HostTensors();
    const bool fits = std::equal(now.begin(), now.end(), snapshot.tensors.begin(), snapshot.tensors.end(),
                                 [](const NamedTensor& a, const NamedTensor& b) {
                                   return a.name == b.name && a.tensor.sizes() == b.tensor.sizes();
                                 });
    if (!fits) return absl::FailedPreconditionError("the snapshot is of a host of another shape");
    Cull(reason);
    for (size_t i = 0; i < now.size(); ++i) {
      std::copy_n(Data(snapshot.tensors[i].tensor), now[i].tensor.numel(), MutableData(now[i].tensor));
    }
    impl_->slot.SetFossils(snapshot.fossils);
    return absl::OkStatus();
  });
}

std::string HostLibrary() { return absl::StrCat("libtorch ", TORCH_VERSION, ", ", at::get_cpu_capability()); }

}  // namespace reprise::models
