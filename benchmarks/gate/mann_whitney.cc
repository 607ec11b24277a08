#include "benchmarks/gate/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/status/check.h"

namespace reprise::gate {
namespace {

constexpr size_t kMostValues = 50;

// Returns twice the midrank of each value among all of them, which is an integer even with ties.
std::vector<int64_t> DoubledMidranks(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> ranks;
  for (double value : values) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    ranks.push_back((first - sorted.begin()) + 1 + (last - sorted.begin()));
  }
  return ranks;
}

// Returns the number of subsets of `ranks` with `size` elements for each sum, as doubles because there may be more than
// 2^63.
std::vector<double> SubsetsBySum(const std::vector<int64_t>& ranks, size_t size) {
  int64_t most = 0;
  for (int64_t rank : ranks) most += rank;
  std::vector<std::vector<double>> count(size + 1, std::vector<double>(static_cast<size_t>(most) + 1, 0.0));
  count[0][0] = 1;
  for (int64_t rank : ranks) {
    for (size_t chosen = size; chosen > 0; --chosen) {
      for (int64_t sum = most; sum >= rank; --sum) count[chosen][sum] += count[chosen - 1][sum - rank];
    }
  }
  return count[size];
}

}  // namespace

double ProbabilityOfLargerByChance(const std::vector<double>& x, const std::vector<double>& y) {
  CHECK_LE(x.size(), kMostValues);
  CHECK_LE(y.size(), kMostValues);
  if (x.empty() || y.empty()) return 1;
  std::vector<double> all = x;
  all.insert(all.end(), y.begin(), y.end());
  for (double value : all) CHECK(std::isfinite(value));
  const std::vector<int64_t> ranks = DoubledMidranks(all);
  int64_t observed = 0;
  for (size_t i = 0; i < x.size(); ++i) observed += ranks[i];
  const std::vector<double> subsets = SubsetsBySum(ranks, x.size());
  double as_large = 0, of_all = 0;
  for (size_t sum = 0; sum < subsets.size(); ++sum) {
    of_all += subsets[sum];
    if (static_cast<int64_t>(sum) >= observed) as_large += subsets[sum];
  }
  return as_large / of_all;
}

}  // namespace reprise::gate
