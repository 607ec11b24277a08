#ifndef RL_RECORD_STEP_SINK_H_
#define RL_RECORD_STEP_SINK_H_

// Receives finished steps: to write them to an artifact, or to compare them with one.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/tensor/flat_layout.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

// Everything that steps change, as of the end of one step: the next step starts from it. Views of the learner's memory.
struct PolicyState {
  Phase phase = Phase::kSft;
  int64_t step = 0;
  std::vector<TensorView> weights;       // by tensor
  std::vector<TensorGroup> optimizer;    // its state
  std::vector<TensorView> reference;     // empty without a reference model
  std::vector<double> schedules;         // ToNumbers(ScheduleState), or SftWindow's; empty without any
  std::vector<double> best;              // BestToNumbers(BestSoFar); empty without any
  std::vector<TensorView> best_weights;  // of the best evaluation; empty if not kept
  bool is_over = false;                  // no step of the run follows
  int64_t updates = 0;                   // of the optimizer, in this phase
  int64_t num_tokens = 0;                // so far, in this phase
};

class StepSink {
 public:
  virtual ~StepSink() = default;

  // Called on rank 0 with the whole step, in order. Returning false ends the run early (a comparison has found a
  // difference).
  virtual absl::StatusOr<bool> Commit(const StepTables& step) = 0;

  // Returns whether Checkpoint is to be called with the state after this step, which becomes a part of the run.
  // `is_over`: it is the run's last step. Called on rank 0, after Commit.
  virtual bool WantsCheckpoint(Phase phase, int64_t step, bool is_over) = 0;

  // Called on rank 0, after Commit.
  virtual absl::Status Checkpoint(const PolicyState& state) = 0;

  // The same for a state to resume from. `ends`: this process ends here, before the run's last step.
  virtual bool WantsState(Phase phase, int64_t step, bool ends) = 0;
  virtual absl::Status SaveState(const PolicyState& state) = 0;
};

}  // namespace reprise::rl

#endif  // RL_RECORD_STEP_SINK_H_
