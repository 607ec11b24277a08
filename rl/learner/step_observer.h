#ifndef RL_LEARNER_STEP_OBSERVER_H_
#define RL_LEARNER_STEP_OBSERVER_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// The stages of a step (rl/learner/stages.h), and what follows them.
enum class StepStage {
  kDraw,   // tasks and episodes
  kScore,  // rewards, log-probabilities, values
  kAdvantages,
  kEvaluate,  // on held-out problems
  kUpdate,
  kSchedules,
  kCommit,  // the step's record
  kSave,    // checkpoints and states
};
inline constexpr int kNumStepStages = 8;

inline absl::string_view NameOf(StepStage stage) {
  constexpr absl::string_view kNames[kNumStepStages] = {"draw",   "score",     "advantages", "evaluate",
                                                        "update", "schedules", "commit",     "save"};
  return kNames[static_cast<int>(stage)];
}

// Is told what the training loop does; the loop itself has no clock. It changes nothing of a run.
class StepObserver {
 public:
  virtual ~StepObserver() = default;

  // A stage begins, which ends where the next one begins. Called on every rank by the thread of the training loop, in
  // the same order on all ranks; should take less than a microsecond.
  virtual void OnStage(StepStage stage, Phase phase, int64_t step) = 0;
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_OBSERVER_H_
