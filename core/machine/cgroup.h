#ifndef CORE_MACHINE_CGROUP_H_
#define CORE_MACHINE_CGROUP_H_

// The limits that a batch system or a container sets for a group of processes: Linux's control groups, versions 1
// and 2.

#include <cstdint>
#include <limits>

#include "absl/strings/string_view.h"

namespace reprise {

struct CgroupLimits {
  int64_t memory_bytes = std::numeric_limits<int64_t>::max();
  double processors = std::numeric_limits<double>::infinity();  // processor seconds that may be used a second
};

// Returns the smallest limits of this process's groups and of the groups above them, as far as they can be read. `root`
// is in front of every path that is read: empty but for tests.
CgroupLimits ReadCgroupLimits(absl::string_view root = "");

}  // namespace reprise

#endif  // CORE_MACHINE_CGROUP_H_
