#ifndef MODELS_MORPHOGENESIS_NETWORKS_TRAIN_EPOCH_H_
#define MODELS_MORPHOGENESIS_NETWORKS_TRAIN_EPOCH_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "models/morphogenesis/life_cycle/training.h"
#include "models/morphogenesis/networks/host.h"
#include "models/morphogenesis/networks/sgd.h"
#include "models/morphogenesis/networks/slot.h"

namespace reprise::models {

// A host with a slot at one of its injection points.
struct GrowingNetwork {
  Host* host = nullptr;
  Slot* slot = nullptr;
  size_t point = 0;                                 // the slot's
  const std::function<void()>* on_batch = nullptr;  // called by Loss, unless one of both is null

  BatchLoss Loss(const HostBatch& batch, const HostPass& pass) const;
};

struct EpochOptions {
  Sgd* host_sgd = nullptr;
  Sgd* seed_sgd = nullptr;         // null: the seed, if there is one, does not learn
  bool collect_gradients = false;  // statistics of the seed's gradients, on the last batch
  EpisodeCoordinates episode;
  uint64_t first_batch = 0;  // of the episode: dropout masks are drawn by it
};

// InvalidArgument: a batch that does not fit the host.
absl::Status CheckBatches(const Host& host, absl::Span<const HostBatch> batches);

// The one training loop, whatever the stage of a seed: for each batch the gradients by host and seed, then the host's
// step, then the seed's. All batches are checked before the first step. Without batches all results are 0.
absl::StatusOr<EpochTraining> TrainEpoch(const GrowingNetwork& network, absl::Span<const HostBatch> batches,
                                         const EpochOptions& options);

// Neither trains nor changes anything.
absl::StatusOr<HostEvaluation> EvaluateNetwork(const GrowingNetwork& network, absl::Span<const HostBatch> batches);

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_TRAIN_EPOCH_H_
