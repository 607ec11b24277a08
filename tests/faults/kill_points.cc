#include "tests/faults/kill_points.h"

namespace reprise::testing {

std::vector<KillPoint> KillPoints(const std::vector<LoggedCall>& log, const std::vector<int64_t>& calls) {
  std::vector<KillPoint> points;
  for (const int64_t call : calls) {
    const LoggedCall& logged = log.at(static_cast<size_t>(call));
    if (!logged.changes() || logged.action == "sync") continue;
    points.push_back({call, /*torn=*/false});
    if (logged.action == "write") points.push_back({call, /*torn=*/true});
  }
  return points;
}

}  // namespace reprise::testing
