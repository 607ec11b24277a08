#ifndef RL_RUN_STEP_NUMBER_H_
#define RL_RUN_STEP_NUMBER_H_

#include <cstdint>
#include <utility>

#include "rl/config/config.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

// Returns the artifact's number of a step, counted from 1: SFT steps come first.
inline int64_t ArtifactStep(const Config& config, Phase phase, int64_t step) {
  return phase == Phase::kSft ? step : config.sft.steps + step;
}

// The inverse of ArtifactStep.
inline std::pair<Phase, int64_t> StepOfNumber(const Config& config, int64_t number) {
  if (number <= config.sft.steps) return {Phase::kSft, number};
  return {Phase::kTraining, number - config.sft.steps};
}

}  // namespace reprise::rl

#endif  // RL_RUN_STEP_NUMBER_H_
