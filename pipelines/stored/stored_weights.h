#ifndef PIPELINES_STORED_STORED_WEIGHTS_H_
#define PIPELINES_STORED_STORED_WEIGHTS_H_

// Reads the weights in a run's checkpoints.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/tensor/flat_layout.h"
#include "pipelines/stored/stored_run.h"

namespace reprise {

// Returns the training steps whose weights are stored, ascending.
std::vector<int64_t> StepsWithWeights(const StoredRun& run);

// Returns the weights after training step `step` as one flat array of layout.total floats (padding 0). NotFound,
// listing the available steps, for a step without a checkpoint; otherwise the errors of rl::ReadFlat.
absl::StatusOr<std::vector<float>> ReadWeights(const StoredRun& run, int64_t step, const FlatLayout& layout);

// Returns the prompts of the run's steps up to training step `step`, including all SFT steps: those on which the
// weights after that step were trained. None where the workload answers no prompts.
std::set<std::string> PromptsUpTo(const StoredRun& run, int64_t step);

// The choice of a run's weights, as given by --step (StepOrBest): "" the last ones, a training step, or "best".
struct StepChoice {
  std::string text;
};

struct ChosenWeights {
  int64_t step = 0;  // of training
  std::vector<float> weights;
};

// As ReadWeights; for an unfinished run also those of its states, of which the trainer keeps the newest: if all listed
// states are removed before they are read, *run is read again. "best" selects those of the best evaluation; NotFound
// where the run has none.
absl::StatusOr<ChosenWeights> ReadChosenWeights(const StepChoice& choice, const FlatLayout& layout, StoredRun* run);

}  // namespace reprise

#endif  // PIPELINES_STORED_STORED_WEIGHTS_H_
