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

// Of a program that makes these calls: before each of those numbered `calls` that changes the disk, and in the middle
// of each of them that writes.
std::vector<KillPoint> KillPoints(const std::vector<LoggedCall>& log, const std::vector<int64_t>& calls);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_KILL_POINTS_H_
