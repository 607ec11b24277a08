#ifndef PIPELINES_TRAINING_REDUCTION_H_
#define PIPELINES_TRAINING_REDUCTION_H_

// Handles run.reduction = "fast".

#include <string>

#include "absl/status/status.h"
#include "rl/config/config.h"

namespace reprise {

bool IsFast(const rl::RunConfig& run);

// With "fast", loads the library of fast products in place of the exact ones, for the rest of the process. Must be
// called before the run's first product. FailedPrecondition, with the remedy, if the library was not built or an
// earlier run of this process loaded it.
absl::Status PrepareReduction(const rl::RunConfig& run);

// "run.h5 was made with run.reduction = "fast"..." Returns FailedPrecondition if it was, because such a run cannot be
// compared bit for bit.
absl::Status CheckReproducible(const std::string& path, const rl::RunConfig& run);

// Returns the note that is shown with such a run; empty for others.
std::string ReductionNote(const rl::RunConfig& run);

}  // namespace reprise

#endif  // PIPELINES_TRAINING_REDUCTION_H_
