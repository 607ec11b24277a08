#ifndef DATA_ARTIFACT_RUN_STATE_H_
#define DATA_ARTIFACT_RUN_STATE_H_

// What a run needs to continue after a step without repeating the steps before it: states/<step>.h5 in the run's
// directory. These are run files with the run's header that hold no steps, but tensors in named groups. They only save
// time: a state is a function of the header and its step, so it does not matter which process wrote it, and a run whose
// states are damaged or gone is executed again from its first step.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "core/tensor/flat_layout.h"
#include "data/artifact/format/run_header.h"
#include "data/artifact/run_reader.h"

namespace reprise {

std::string StateDirectory(absl::string_view run_directory);

// Writes the state atomically and durably; does nothing if its name is taken, by whatever: the run goes on without this
// state. InvalidArgument for names that the format
// does not allow. Takes a few MB of memory beside the tensors.
absl::Status WriteState(FileSystem& files, absl::string_view run_directory, const RunHeader& header, int64_t step,
                        absl::Span<const TensorGroup> groups);

// Returns the steps that have a state, ascending; empty if the directory of states does not exist.
absl::StatusOr<std::vector<int64_t>> ListStates(FileSystem& files, absl::string_view run_directory);

// Opens a state, with its groups as checkpoints of that step. DataLoss if it is damaged, or of another run or step.
absl::StatusOr<RunReader> OpenState(FileSystem& files, absl::string_view run_directory, const RunHeader& header,
                                    int64_t step);

// Removes all but the newest `keep` states, no link that has the name of one, and what an unfinished WriteState left;
// if `keep` is 0, also the directory. check_owner: called after the files have been listed and before any is removed;
// its error is returned, and nothing is removed. It must fail if a later process may already write states: so that the
// unfinished file of a process that took over the run is never removed by the one that it replaced. Null where no other
// process can write the run.
absl::Status RetireStates(FileSystem& files, absl::string_view run_directory, int64_t keep,
                          const std::function<absl::Status()>& check_owner = nullptr);

}  // namespace reprise

#endif  // DATA_ARTIFACT_RUN_STATE_H_
