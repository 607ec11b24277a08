#ifndef BENCHMARKS_GATE_MANN_WHITNEY_H_
#define BENCHMARKS_GATE_MANN_WHITNEY_H_

// The rank test of Mann and Whitney (1947) for two small samples: whether one is larger, for any distribution of the
// noise. An outlier of any size counts as one rank.

#include <vector>

namespace reprise::gate {

// Returns the probability that x's ranks would have at least their sum if both samples came from one distribution:
// small if x is larger. Exact for every size, by counting the choices of |x| out of |x| + |y| midranks, so that ties
// need no correction. 1 if a sample is empty. CHECKs that all values are finite and each sample has at most 50. Pure.
double ProbabilityOfLargerByChance(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_MANN_WHITNEY_H_
