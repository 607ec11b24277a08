#ifndef CORE_MACHINE_PROCESSORS_H_
#define CORE_MACHINE_PROCESSORS_H_

// The processors that this process may use, which are often fewer than the machine has: a batch system or mpirun binds
// it to some of them, a container limits their time.

#include <array>
#include <cstdint>

#include "core/machine/cgroup.h"

namespace reprise {

// A bit for each processor; Linux has at most 8192.
using ProcessorMask = std::array<uint64_t, 128>;

// Returns the processors on which the calling thread may be scheduled (sched_getaffinity); all, if the system does not
// say.
ProcessorMask AllowedProcessors();

bool Overlap(const ProcessorMask& a, const ProcessorMask& b);

// Returns how many threads of this process can work at once, at least 1: the number of AllowedProcessors(), and no more
// than the time that `limits`, those of its control groups, allow, rounded down.
int UsableProcessors(const CgroupLimits& limits = ReadCgroupLimits());

}  // namespace reprise

#endif  // CORE_MACHINE_PROCESSORS_H_
