#ifndef MODELS_MORPHOGENESIS_NETWORKS_SLOT_H_
#define MODELS_MORPHOGENESIS_NETWORKS_SLOT_H_

// A place in a host where seeds live: at most one live seed, and the fossils of earlier ones, which are part of the
// host: their parameters are frozen, and the slot is free again.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "models/morphogenesis/life_cycle/blueprints.h"
#include "models/morphogenesis/life_cycle/gates.h"
#include "models/morphogenesis/life_cycle/gradient_statistics.h"
#include "models/morphogenesis/life_cycle/seed_state.h"
#include "models/morphogenesis/life_cycle/slot_event.h"
#include "models/morphogenesis/life_cycle/slot_options.h"
#include "models/morphogenesis/networks/seed_module.h"

namespace reprise::models {

struct Fossil {
  Blueprint blueprint;
  std::shared_ptr<const SeedModule> module;
};

// What a slot is at one moment, for checkpoints.
struct SlotContents {
  std::optional<SeedState> seed;       // of the live seed
  std::shared_ptr<SeedModule> module;  // null without one
  std::optional<SeedState> resting;    // of the seed whose cull is not over
  int embargo_remaining = 0, seeds_germinated = 0;
  std::vector<Fossil> fossils;
};

class Slot {
 public:
  Slot(Topology topology, InjectionPoint point, SlotOptions options)
      : topology_(topology), point_(std::move(point)), options_(options) {}
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // h after the fossils and the live seed. Inactive stages change nothing. With the seed's output s:
  //   alpha = 0 in TRAINING and BLENDING: the value of h exactly; the seed gets the whole gradient by the output, and
  //     the host that which it would have alone: s is computed from the detached h
  //   else: (1 - alpha) h + alpha s; gradients as BlendGradient says
  at::Tensor Forward(const at::Tensor& h);

  // FailedPrecondition: "Slot X already has active seed", the embargo after a cull, too many seeds, or alpha is
  // forced; InvalidArgument: the blueprint does not fit; Internal: it does not keep the shape of a probe. `baseline`:
  // the accuracy of the network without the seed.
  absl::StatusOr<GateResult> Germinate(const Blueprint& blueprint, const std::string& seed_id,
                                       std::optional<double> baseline, const EpisodeCoordinates& episode);

  // See HostSession::AdvanceStage.
  GateResult AdvanceStage(std::optional<Stage> target);

  // False without a seed. FailedPrecondition: alpha is forced.
  absl::StatusOr<bool> Cull(absl::string_view reason);

  // Once per epoch, after validation.
  void StepEpoch();

  // Clamped to [0, 1]; without a seed no effect.
  void SetAlpha(double alpha);
  double alpha() const;  // the forced one, if there is one; 0 without a seed

  // The seed's gradients on an epoch's last batch, and those of the host.
  void RecordGradients(const GradientStatistics& statistics, double seed_to_host_ratio);
  // After each training batch: whether gradient passed through the input of a seed in TRAINING.
  void RecordIsolation();

  SeedState* seed() { return module_ == nullptr ? nullptr : &*state_; }
  const SeedState* seed() const { return module_ == nullptr ? nullptr : &*state_; }
  Stage stage() const { return state_.has_value() ? state_->stage : Stage::kDormant; }
  bool IsLearning() const;  // a live seed in GERMINATED to PROBATIONARY
  int embargo_remaining() const { return embargo_remaining_; }
  int seeds_germinated() const { return seeds_germinated_; }
  const InjectionPoint& point() const { return point_; }
  const std::vector<Fossil>& fossils() const { return fossils_; }
  NamedTensors seed_parameters() const;  // of the live seed
  int64_t active_seed_params() const { return ElementsOf(seed_parameters()); }
  int64_t fossil_params() const;

  void SetEpoch(int64_t epoch) { epoch_ = epoch; }  // for events and histories
  std::vector<SlotEvent> TakeEvents();

  SlotContents Contents() const;
  void SetContents(SlotContents contents);  // fossils are frozen
  void SetFossils(std::vector<Fossil> fossils) { fossils_ = std::move(fossils); }

 private:
  friend class ForcedAlpha;

  bool Enter(Stage to);  // the only way into a stage: the transition and what it entails
  void Fossilise();
  void Empty();
  void StepBlending();
  void StepEmbargo();
  GateResult TryToEnter(Stage target);
  at::Tensor Grow(const at::Tensor& h);
  absl::Status CheckGermination(const Blueprint& blueprint) const;
  SlotEvent EventOf(SlotEventKind kind, const SeedState& seed, Stage from) const;

  Topology topology_;
  InjectionPoint point_;
  SlotOptions options_;
  std::optional<SeedState> state_;  // with a module: of the live seed; without: of a culled one, until it is DORMANT
  std::shared_ptr<SeedModule> module_;
  std::vector<Fossil> fossils_;
  std::optional<double> forced_alpha_;
  GradientIsolationMonitor monitor_;
  double passed_through_input_ = 0;
  int embargo_remaining_ = 0, seeds_germinated_ = 0;
  int64_t epoch_ = 0;
  std::vector<SlotEvent> events_;
};

// Forces the share of a slot's seed as long as it lives; may be nested. Meanwhile nothing germinates, is culled or
// enters a stage.
class ForcedAlpha {
 public:
  ForcedAlpha(Slot* slot, double alpha);
  ~ForcedAlpha() { slot_->forced_alpha_ = outer_; }
  ForcedAlpha(const ForcedAlpha&) = delete;
  ForcedAlpha& operator=(const ForcedAlpha&) = delete;

 private:
  Slot* slot_;
  std::optional<double> outer_;
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_SLOT_H_
