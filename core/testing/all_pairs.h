#ifndef CORE_TESTING_ALL_PAIRS_H_
#define CORE_TESTING_ALL_PAIRS_H_

#include <vector>

namespace reprise::testing {

// One value of every axis, as its index.
using Row = std::vector<int>;

// Returns every combination. levels[axis], at least 1, is the number of values of the axis.
std::vector<Row> FullProduct(const std::vector<int>& levels);

// Returns few rows of the full product in which any two values of two axes occur together at least once: most faults
// that need a combination need one of only two values (Kuhn, Wallace and Gallo, "Software fault interactions", 2004).
// Greedy: each row is the one that adds most new pairs. Deterministic.
std::vector<Row> AllPairs(const std::vector<int>& levels);

}  // namespace reprise::testing

#endif  // CORE_TESTING_ALL_PAIRS_H_
