#ifndef RL_EVALUATION_DRAW_PROBLEM_H_
#define RL_EVALUATION_DRAW_PROBLEM_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/random/draw.h"
#include "data/tasks/task.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Where a problem of data.task is drawn.
struct ProblemPlace {
  uint64_t seed = 0;
  Purpose purpose = Purpose::kTask;
  uint64_t step = 0, index = 0;
};

// The problem of that place that is on the side of the split (IsHeldOut, evaluation.held_out_share) that is asked for:
// the first of the place's attempts that is. With a share of 0 the first attempt, on either side. InvalidArgument for
// options that the task does not have, and when none of 2^16 attempts is on that side: the task has too few problems
// to be split. Pure.
absl::StatusOr<data::Task> DrawProblem(const Config& config, const ProblemPlace& place, bool held_out);

}  // namespace reprise::rl

#endif  // RL_EVALUATION_DRAW_PROBLEM_H_
