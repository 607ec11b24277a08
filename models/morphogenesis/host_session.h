#ifndef MODELS_MORPHOGENESIS_HOST_SESSION_H_
#define MODELS_MORPHOGENESIS_HOST_SESSION_H_

// One episode's host network with its slot, its seed and their optimizers. A controller (rl/) decides what happens to
// the slot; this class does it. The order of an epoch is
//
//   TrainOneEpoch, Evaluate, RecordAccuracy, [Evaluate with alpha 0, SetCounterfactual], StepEpoch, an action:
//   Germinate | AdvanceStage(kFossilized) | Cull
//
// Everything is a function of the configuration, the episode's coordinates and the calls: initial weights and dropout
// come from Draw, and arithmetic is that of kernels/ (docs/determinism.md), so that an episode has the same bits on
// every thread and machine. A session is used by one thread at a time; several sessions may run at once.
//
// No header of LibTorch is needed to use it, and no program depends on LibTorch, which takes half a second and 100 MB
// to load: the networks are a library that Create opens. A program that depends on :network_session has them itself.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor/tensor.h"
#include "models/morphogenesis/life_cycle/gates.h"
#include "models/morphogenesis/life_cycle/host_task.h"
#include "models/morphogenesis/life_cycle/seed_state.h"
#include "models/morphogenesis/life_cycle/slot_event.h"
#include "models/morphogenesis/life_cycle/slot_options.h"
#include "models/morphogenesis/life_cycle/training.h"

namespace reprise::models {

struct SessionOptions {
  HostTask task;             // a copy may have another shape, batch size or number of epochs
  std::string slot_id = {};  // empty: the host's first injection point
  SgdOptions host_sgd = {.weight_decay = 5e-4};
  SgdOptions seed_sgd = {};
  SlotOptions slot = {};  // its durations are taken from the task
  // Called for every batch that is trained or evaluated, on the session's thread: an epoch may take long, and nothing
  // else tells a watchdog that the program works. May be null.
  std::function<void()> on_batch = nullptr;
};

// A copy of a host at one moment: weights, statistics of normalisation, momentum, fossils. Immutable; may be shared.
class HostSnapshot {
 public:
  virtual ~HostSnapshot() = default;
};

class HostSession {
 public:
  // InvalidArgument: a shape, an option or coordinates out of range; NotFound: no such slot, with those that exist;
  // FailedPrecondition: the library was not built, or cannot be opened.
  static absl::StatusOr<std::unique_ptr<HostSession>> Create(SessionOptions options, const EpisodeCoordinates& episode);
  virtual ~HostSession() = default;
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  // Trains host and seed over all batches, in order. A germinated seed first enters TRAINING (gate G1). Statistics of
  // gradients are those after the last batch's backward pass and before its step. No batches: all zero. Numbers that
  // are not finite are no error: they show in the losses. InvalidArgument: a batch that does not fit.
  virtual absl::StatusOr<EpochTraining> TrainOneEpoch(absl::Span<const HostBatch> batches,
                                                      bool collect_gradients = true) = 0;

  // Without training, and without changing anything. With forced_alpha, the seed's share in the slot's output is that,
  // in [0, 1]: 0 is the counterfactual of a network without the seed. Without a seed it has no effect.
  virtual absl::StatusOr<HostEvaluation> Evaluate(absl::Span<const HostBatch> batches,
                                                  std::optional<double> forced_alpha = std::nullopt) = 0;

  // Records the network's accuracy (percent) of an epoch's validation: as that of the seed, if there is one, and as the
  // baseline of the next seed to germinate.
  virtual void RecordAccuracy(double accuracy) = 0;

  // What the seed contributes: accuracy with it minus accuracy with alpha forced to 0. Without a seed no effect.
  virtual void SetCounterfactual(double contribution) = 0;

  // Puts a seed into the slot, after a smoke test that it keeps the shape of its input. An empty seed_id is
  // "{slot}-{blueprint}". FailedPrecondition: "Slot X already has active seed", or the embargo after a cull is not
  // over; NotFound: no such blueprint; InvalidArgument: it does not fit the slot; Internal: the smoke test.
  virtual absl::StatusOr<GateResult> Germinate(absl::string_view blueprint, absl::string_view seed_id = "") = 0;

  // Tries the gate of `target` (without one: of the first successor that is no failure) and enters the stage if it
  // passes. In a seed that fossilises, alpha becomes 1, its parameters are frozen, it moves into the host, and the slot
  // is free. A gate that fails is a result, not an error.
  virtual GateResult AdvanceStage(std::optional<Stage> target = std::nullopt) = 0;

  // Removes the seed. Returns false if there is none.
  virtual bool Cull(absl::string_view reason) = 0;

  // Once per epoch, after validation: at most one transition that time and gates call for, and the next alpha.
  virtual void StepEpoch() = 0;

  // The live seed, or null. Valid until the next call that changes the session.
  virtual const SeedState* seed() const = 0;
  virtual Stage slot_stage() const = 0;       // DORMANT if it is empty; CULLED to RESETTING during an embargo
  virtual int embargo_remaining() const = 0;  // epochs (calls of StepEpoch) before a seed may germinate again
  virtual const std::string& slot_id() const = 0;
  virtual int64_t slot_channels() const = 0;
  virtual int64_t epochs() const = 0;                    // that were trained
  virtual int seeds_germinated() const = 0;              // in this episode
  virtual int64_t host_params() const = 0;               // of the host alone, without seeds and fossils
  virtual int64_t active_seed_params() const = 0;        // trainable parameters of the live seed; 0 without one
  virtual int64_t fossil_params() const = 0;             // of all fossils
  virtual std::vector<std::string> fossils() const = 0;  // blueprints, oldest first

  // Events since the last call, oldest first.
  virtual std::vector<SlotEvent> TakeEvents() = 0;

  // For a governor. Rollback culls the live seed, and puts back weights, statistics, momentum and fossils of a snapshot
  // of this session; epochs and events go on. FailedPrecondition: a snapshot of a host of another shape;
  // ResourceExhausted: no memory for the copy.
  virtual absl::StatusOr<std::shared_ptr<const HostSnapshot>> TakeSnapshot() const = 0;
  virtual absl::Status Rollback(const HostSnapshot& snapshot, absl::string_view reason) = 0;

  // All of the session's state as named tensors, including a live seed and fossils (blueprints, metrics, weights,
  // momentum): a session that loads it goes on bit for bit. Load builds seeds before it fills them, and changes nothing
  // unless it succeeds. FailedPrecondition: another shape, slot or set of tensors; DataLoss: a damaged tensor;
  // ResourceExhausted: no memory for what is loaded.
  virtual std::vector<Tensor> State() const = 0;
  virtual absl::Status Load(absl::Span<const TensorView> state) = 0;

  // The weights and statistics of the network as it computes now, by name: "host.blocks.0.conv.weight".
  virtual std::vector<Tensor> Weights() const = 0;

 protected:
  HostSession() = default;
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_HOST_SESSION_H_
