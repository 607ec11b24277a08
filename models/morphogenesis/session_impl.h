#ifndef MODELS_MORPHOGENESIS_SESSION_IMPL_H_
#define MODELS_MORPHOGENESIS_SESSION_IMPL_H_

#include <memory>
#include <optional>
#include <vector>

#include "models/morphogenesis/host_session.h"
#include "models/morphogenesis/networks/host.h"
#include "models/morphogenesis/networks/sgd.h"
#include "models/morphogenesis/networks/slot.h"
#include "models/morphogenesis/networks/train_epoch.h"
#include "models/morphogenesis/stored_tensors.h"

namespace reprise::models {

class HostSnapshot {
 public:
  NamedTensors tensors;  // copies of a host's parameters, buffers and momentum, in this order
  std::vector<Fossil> fossils;
};

class HostSession::Impl {
 public:
  Impl(SessionOptions session_options, const EpisodeCoordinates& coordinates, size_t slot_point);

  GrowingNetwork network() { return {host.get(), &slot, point}; }

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

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_SESSION_IMPL_H_
