#ifndef PIPELINES_STORED_REWARD_CURVE_H_
#define PIPELINES_STORED_REWARD_CURVE_H_

#include <string>
#include <vector>

namespace reprise {

// Returns the rewards of a run's steps as at most ten lines, each the mean of an equal number of steps, with a bar for
// values up to 1.
std::vector<std::string> RewardCurve(const std::vector<double>& rewards);

}  // namespace reprise

#endif  // PIPELINES_STORED_REWARD_CURVE_H_
