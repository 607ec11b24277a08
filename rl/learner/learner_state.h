#ifndef RL_LEARNER_LEARNER_STATE_H_
#define RL_LEARNER_LEARNER_STATE_H_

#include <cstdint>
#include <vector>

#include "core/tensor/flat_layout.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// The state that a learner resumes from: a copy of what PolicyState refers to, each array flat in the layout's order.
// It does not depend on ranks.
struct LearnerState {
  Phase phase = Phase::kSft;
  int64_t step = 0;  // the last completed step; 0 in the SFT phase: none
  int64_t updates = 0, num_tokens = 0;
  std::vector<float> weights;
  std::vector<FlatGroup> optimizer;  // its state
  std::vector<double> schedules;     // ToNumbers(ScheduleState), in the SFT phase SftWindow's; empty: as at the start
  // Of training steps, without a value function; empty: the model's weights before the state is restored.
  std::vector<float> reference;
  std::vector<double> best;         // BestToNumbers(BestSoFar); empty: no evaluation so far, or not tracked
  std::vector<float> best_weights;  // of the best evaluation; empty: not kept
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_LEARNER_STATE_H_
