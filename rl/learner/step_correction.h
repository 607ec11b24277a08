#ifndef RL_LEARNER_STEP_CORRECTION_H_
#define RL_LEARNER_STEP_CORRECTION_H_

#include <vector>

#include "models/decoder/decoder.h"
#include "rl/learner/step.h"
#include "rl/learner/step_gradient.h"
#include "rl/loss/importance_correction.h"

namespace reprise::rl {

// Gives every episode of the step the log-probabilities that training computes before its first update, which become
// the old ones of its ratios, and the weights that correct for those that it was sampled with. inputs: of the step.
void CorrectForSampler(const models::Decoder& policy, const std::vector<ShardInput>& inputs, float temperature,
                       const ImportanceOptions& options, StepGradient* passes, Step* step);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_CORRECTION_H_
