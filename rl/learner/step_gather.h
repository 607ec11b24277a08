#ifndef RL_LEARNER_STEP_GATHER_H_
#define RL_LEARNER_STEP_GATHER_H_

#include <vector>

#include "absl/status/status.h"
#include "core/comm/communicator.h"
#include "rl/gradient/step_loss.h"
#include "rl/record/record_schema.h"

namespace reprise::rl {

// A rank's share of a step.
struct StepShare {
  std::vector<StreamTable> tables;                         // of its own tasks and episodes; the same streams everywhere
  std::vector<EpisodeOutcome> first_outcome_N, outcome_N;  // of the first and of the last update
};

// Gathers the shares of all ranks on rank 0, in rank order, which is the order of prompts, but for the streams of
// schema.orders: there `share` becomes the whole step; elsewhere it does not change. Collective; returns the
// communicator's errors.
absl::Status GatherStep(Communicator& comm, const RecordSchema& schema, StepShare* share);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_GATHER_H_
