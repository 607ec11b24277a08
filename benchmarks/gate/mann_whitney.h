#ifndef BENCHMARKS_GATE_MANN_WHITNEY_H_
#define BENCHMARKS_GATE_MANN_WHITNEY_H_

// The rank test of Mann and Whitney (1947) for two small samples: whether one is larger, whatever the distribution of
// the noise. An outlier, however far out, counts as one rank.

#include <vector>

namespace reprise::gate {

// The chance that x's ranks would sum to what they do, or to more, if both samples came from one distribution: small
// when x is larger. Exact for every size, by counting the choices of |x| out of |x| + |y| midranks, so that ties need
// no correction. 1 when a sample is empty. Both are finite and have at most 50 values (checked). Pure.
double ProbabilityOfLargerByChance(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_MANN_WHITNEY_H_
