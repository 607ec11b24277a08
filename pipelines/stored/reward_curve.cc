#include "pipelines/stored/reward_curve.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace reprise {

std::vector<std::string> RewardCurve(const std::vector<double>& rewards) {
  constexpr size_t kMostRows = 10;
  constexpr double kBar = 40;  // characters of a reward of 1
  const size_t rows = std::min(kMostRows, rewards.size());
  std::vector<std::string> lines;
  for (size_t row = 0; row < rows; ++row) {
    const size_t begin = rewards.size() * row / rows, end = rewards.size() * (row + 1) / rows;
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += rewards[i];
    const double mean = sum / static_cast<double>(end - begin);
    const double shown = mean > 0 ? std::min(mean, 1.0) : 0.0;  // 0 for NaN, too
    const std::string bar(static_cast<size_t>(shown * kBar + 0.5), '#');
    lines.push_back(absl::StrFormat("steps %4d-%-4d  mean reward %.3f  %s", begin + 1, end, mean, bar));
  }
  return lines;
}

}  // namespace reprise
