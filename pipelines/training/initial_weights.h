#ifndef PIPELINES_TRAINING_INITIAL_WEIGHTS_H_
#define PIPELINES_TRAINING_INITIAL_WEIGHTS_H_

// Runs that start from the weights of another run, or from adapters (--init-from).

#include <string>

#include "absl/status/status.h"
#include "core/comm/communicator.h"
#include "pipelines/stored/stored_run.h"
#include "rl/workload/run_parts.h"

namespace reprise {

// Sets the model's weights to those of `place`, which is RUN.h5 or a run's directory, for that run's last weights, or
// RUN.h5@STEP, or a directory with adapters of the PEFT library (errors of models::LoadAdapters), and adds their digest
// to the run's external files: the weights are part of the run's identity, the place is not. Warns (parts->warnings) if
// that run was trained on problems that this run's `config` holds out, or if its model differs in keys that do not
// affect shapes. Errors: those of the file; NotFound for a step without a checkpoint; FailedPrecondition where that
// run's model has another shape.
absl::Status TakeInitialWeights(const std::string& place, const rl::Config& config, rl::RunParts* parts);

// Unavailable unless all ranks have read the same weights: a run may continue meanwhile. Collective.
absl::Status AgreeOnInitialWeights(Communicator& comm, const rl::RunParts& parts);

// Returns FailedPrecondition, with a remedy, unless `parts` and `run` started from the same weights of another run, or
// neither did.
absl::Status CheckInitialWeights(const StoredRun& run, const rl::RunParts& parts);

}  // namespace reprise

#endif  // PIPELINES_TRAINING_INITIAL_WEIGHTS_H_
