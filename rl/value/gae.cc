#include "rl/value/gae.h"

#include "core/status/check.h"

namespace reprise::rl {
namespace {

void CheckSizes(const Trajectory& trajectory) {
  const size_t T = trajectory.reward_T.size();
  CHECK_EQ(trajectory.value_T.size(), T);
  if (!trajectory.mask_T.empty()) CHECK_EQ(trajectory.mask_T.size(), T);
  if (!trajectory.end_T.empty()) CHECK_EQ(trajectory.end_T.size(), T);
  if (!trajectory.bootstrap_T.empty()) CHECK_EQ(trajectory.bootstrap_T.size(), T);
}

}  // namespace

Gae GeneralizedAdvantages(const Trajectory& trajectory, const GaeOptions& options) {
  CheckSizes(trajectory);
  const size_t T = trajectory.reward_T.size();
  Gae gae = {std::vector<double>(T, 0.0), std::vector<double>(T, 0.0)};
  double next_value = 0.0, carried = 0.0;
  for (size_t t = T; t-- > 0;) {
    if (!trajectory.mask_T.empty() && trajectory.mask_T[t] == 0) continue;
    const StepEnd end = trajectory.end_T.empty() ? StepEnd::kContinues : trajectory.end_T[t];
    if (end != StepEnd::kContinues) carried = next_value = 0.0;
    if (end == StepEnd::kTruncated) {
      CHECK_EQ(trajectory.bootstrap_T.size(), T);
      next_value = trajectory.bootstrap_T[t];
    }
    const double value = trajectory.value_T[t];
    const double delta = trajectory.reward_T[t] + options.gamma * next_value - value;
    carried = delta + options.gamma * options.lambda * carried;
    gae.advantage_T[t] = carried;
    gae.return_T[t] = carried + value;
    next_value = value;
  }
  return gae;
}

}  // namespace reprise::rl
