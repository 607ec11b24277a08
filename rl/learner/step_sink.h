#ifndef RL_LEARNER_STEP_SINK_H_
#define RL_LEARNER_STEP_SINK_H_

// Where finished steps go: into an artifact, or into a comparison with one.

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/tensor/tensor.h"
#include "rl/learner/step_record.h"

namespace reprise::rl {

class StepSink {
 public:
  virtual ~StepSink() = default;

  // Called on rank 0 with the whole step, in order. False ends the run early (a comparison has found a difference).
  virtual absl::StatusOr<bool> Commit(const StepRecord& record) = 0;

  // Whether Checkpoint wants the state after this step; asked on rank 0.
  virtual bool WantsCheckpoint(Phase phase, int64_t step) = 0;

  // Called on rank 0 after Commit: the weights and the optimizer's moments by tensor.
  virtual absl::Status Checkpoint(int64_t step, absl::Span<const TensorView> weights,
                                  absl::Span<const TensorView> first_moments,
                                  absl::Span<const TensorView> second_moments) = 0;
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_SINK_H_
