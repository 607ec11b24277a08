#ifndef RL_RECORD_DIVERGENCE_H_
#define RL_RECORD_DIVERGENCE_H_

// The first difference between two executions of a step. Its stage is one of those that the workload's RecordSchema
// lists, in the order in which one causes the next. Those of completions: tasks, tokens and an environment's replies
// (and the checks of actions: actions), logprobs, routing, rewards, advantages, gradient, weights, evaluation (the
// external process's replies in it), and metrics, which follow from all of them. A stored checkpoint is a stage of its
// own: checkpoint.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rl/record/record_schema.h"

namespace reprise::rl {

struct Divergence {
  Phase phase = Phase::kTraining;
  int64_t step = 0;
  std::string stage;   // "tasks", "tokens", ...
  std::string tensor;  // what differs within the stage: a tensor's name, "prompt 3 sample 1 token 4", a metric
  std::string expected, actual;  // both values; digests for tensors, hexadecimal for floats

  // "step 12, gradient, model.norm.weight: stored 3f..., computed 4a..."
  std::string ToString() const;
};

// kRequired: digests that only one of the records has are a difference. kWhereBoth: they are ignored.
enum class Digests { kWhereBoth, kRequired };

// Returns the first difference between a stored and a computed record of the same step, bit for bit (NaN equals itself,
// and -0 differs from 0); nullopt if they are equal. Streams and columns that one of them lacks have no rows, or no
// values, there. tensor_names: by tensor, to name digests.
std::optional<Divergence> FirstDivergence(const RecordSchema& schema, const StepTables& stored,
                                          const StepTables& computed, const std::vector<std::string>& tensor_names,
                                          Digests digests = Digests::kWhereBoth);

}  // namespace reprise::rl

#endif  // RL_RECORD_DIVERGENCE_H_
