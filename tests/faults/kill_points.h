#ifndef TESTS_FAULTS_KILL_POINTS_H_
#define TESTS_FAULTS_KILL_POINTS_H_

#include <cstdint>
#include <vector>

#include "tests/faults/injection.h"

namespace reprise::testing {

struct KillPoint {
  int64_t call = 0;
  bool torn = false;
};

// Returns the points at which to kill a program that makes the calls of `log`: before each of the calls numbered
// `calls` that changes the disk, and in the middle of each of them that writes. A killed process leaves the same before
// and after a sync.
std::vector<KillPoint> KillPoints(const std::vector<LoggedCall>& log, const std::vector<int64_t>& calls);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_KILL_POINTS_H_
