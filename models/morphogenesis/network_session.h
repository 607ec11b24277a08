#ifndef MODELS_MORPHOGENESIS_NETWORK_SESSION_H_
#define MODELS_MORPHOGENESIS_NETWORK_SESSION_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/morphogenesis/host_session.h"
#include "models/morphogenesis/networks/host.h"
#include "models/morphogenesis/networks/sgd.h"
#include "models/morphogenesis/networks/slot.h"
#include "models/morphogenesis/networks/train_epoch.h"
#include "models/morphogenesis/stored_tensors.h"

namespace reprise::models {

class NetworkSnapshot : public HostSnapshot {
 public:
  NamedTensors tensors;  // copies of a host's parameters, buffers and momentum, in this order
  std::vector<Fossil> fossils;
};

struct SessionParts {
  SessionParts(SessionOptions session_options, const EpisodeCoordinates& coordinates, size_t slot_point);

  GrowingNetwork network() { return {host.get(), &slot, point, &options.on_batch}; }

  // Parameters, buffers and momentum of the host under the names of its state. Changed in place.
  NamedTensors HostTensors() const;
  Sgd* SeedSgd();  // made if the seed has none

  void Write(StoredTensorWriter* writer) const;
  absl::Status Read(StoredTensorReader* reader);

  const SessionOptions options;
  const EpisodeCoordinates episode;
  const size_t point;  // the slot's
  std::unique_ptr<Host> host;
  Slot slot;
  Sgd host_sgd;
  std::unique_ptr<Sgd> seed_sgd;
  int64_t epochs = 0, batches = 0;  // that were trained
  std::optional<double> accuracy;   // the last that was recorded
};

// The session itself, on LibTorch's tensors.
class NetworkSession : public HostSession {
 public:
  explicit NetworkSession(std::unique_ptr<SessionParts> parts) : impl_(std::move(parts)) {}

  absl::StatusOr<EpochTraining> TrainOneEpoch(absl::Span<const HostBatch> batches, bool collect_gradients) override;
  absl::StatusOr<HostEvaluation> Evaluate(absl::Span<const HostBatch> batches,
                                          std::optional<double> forced_alpha) override;
  void RecordAccuracy(double accuracy) override;
  void SetCounterfactual(double contribution) override;
  absl::StatusOr<GateResult> Germinate(absl::string_view blueprint, absl::string_view seed_id) override;
  GateResult AdvanceStage(std::optional<Stage> target) override;
  bool Cull(absl::string_view reason) override;
  void StepEpoch() override;
  const SeedState* seed() const override;
  Stage slot_stage() const override;
  int embargo_remaining() const override;
  const std::string& slot_id() const override;
  int64_t slot_channels() const override;
  int64_t epochs() const override;
  int seeds_germinated() const override;
  int64_t host_params() const override;
  int64_t active_seed_params() const override;
  int64_t fossil_params() const override;
  std::vector<std::string> fossils() const override;
  std::vector<SlotEvent> TakeEvents() override;
  absl::StatusOr<std::shared_ptr<const HostSnapshot>> TakeSnapshot() const override;
  absl::Status Rollback(const HostSnapshot& snapshot, absl::string_view reason) override;
  std::vector<Tensor> State() const override;
  absl::Status Load(absl::Span<const TensorView> state) override;
  std::vector<Tensor> Weights() const override;

 private:
  std::unique_ptr<SessionParts> impl_;
};

// "libtorch 2.13.0, AVX512": the library that carries a session's tensors, and the instruction set that it chose. For
// logs: no bit of a session depends on it (docs/determinism.md).
std::string HostLibrary();

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORK_SESSION_H_
