#ifndef RL_RUN_STORED_TENSORS_H_
#define RL_RUN_STORED_TENSORS_H_

// Reads and writes groups of tensors in run files and states, as the flat arrays that models and optimizers use.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "core/tensor/flat_layout.h"
#include "data/artifact/format/run_header.h"
#include "data/artifact/run_reader.h"
#include "rl/config/config.h"
#include "rl/learner/learner_state.h"
#include "rl/record/step_sink.h"

namespace reprise::rl {

// Checkpoints and states contain this group, and those of the optimizer (ShardedOptimizer::groups) behind it; states
// also contain others.
inline constexpr absl::string_view kWeightsGroup = "weights";
inline constexpr absl::string_view kReferenceGroup = "reference";
inline constexpr absl::string_view kCountersGroup = "counters";
inline constexpr absl::string_view kSchedulesGroup = "schedules";  // where HasSchedules; see ScheduleState
inline constexpr absl::string_view kBestGroup = "best";            // BestSoFar; only in states
// The weights of the best evaluation, where they are kept: in states and in the checkpoint of the run's last step.
inline constexpr absl::string_view kBestWeightsGroup = "best_weights";

// Returns a group of the step with that number, flat in the layout's order. NotFound where the file has none;
// FailedPrecondition where its tensors are not those of the layout; DataLoss, naming the tensor, where one is not
// finite or, but for the optimizer's state, beyond what a weight can be (core/tensor/bounds.h).
absl::StatusOr<std::vector<float>> ReadFlat(const RunReader& reader, int64_t number, absl::string_view group,
                                            const FlatLayout& layout);

// Returns the groups of a checkpoint, in the order in which files store them.
std::vector<TensorGroup> CheckpointGroups(const PolicyState& state);

// Returns the state after a step whose checkpoint is in the file. What the checkpoint lacks follows from the
// configuration and the step's metrics, except the reference model and schedules, which stay empty, and data about
// evaluations that only later steps need: see CheckpointsAreStates. Errors as above.
absl::StatusOr<LearnerState> StateOfCheckpoint(const RunReader& reader, const Config& config, const StepTables& step,
                                               const FlatLayout& layout);

// Writes what a learner needs to resume into the run's states.
absl::Status SaveLearnerState(FileSystem& files, absl::string_view run_directory, const RunHeader& header,
                              const Config& config, const PolicyState& state);

// Reads a state back; `reference`: the layout of the reference model. DataLoss for a state that this product did not
// write.
absl::StatusOr<LearnerState> LoadLearnerState(FileSystem& files, absl::string_view run_directory,
                                              const RunHeader& header, const Config& config, int64_t number,
                                              const FlatLayout& layout, const FlatLayout& reference);

}  // namespace reprise::rl

#endif  // RL_RUN_STORED_TENSORS_H_
