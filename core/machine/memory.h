#ifndef CORE_MACHINE_MEMORY_H_
#define CORE_MACHINE_MEMORY_H_

// The sizes of this machine's caches, for performance choices that must not change any result bit, and of the memory
// that this process may use.

#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/machine/cgroup.h"

namespace reprise {

// Used if neither the kernel nor the C library reports a size.
inline constexpr int64_t kUsualLastLevelCacheBytes = int64_t{32} << 20;

// Returns the bytes of the last-level cache that one core can use, > 0. Queried once. Thread-safe.
int64_t LastLevelCacheBytes();

// Returns the bytes of the highest-level cache that `folder` describes in Linux's layout (one folder index0, index1,
// ... per cache, with files `level` and `size`); 0 if it describes none.
int64_t LargestLevelIn(absl::string_view folder);

// Returns the bytes of memory that this process may use, > 0: those of the machine, and no more than `limits`, those of
// its control groups, which it shares with their other processes, and than its address space (ulimit -v). The greatest
// int64 if the system does not say.
int64_t UsableMemoryBytes(const CgroupLimits& limits = ReadCgroupLimits());

// Returns the most bytes of this program that were in memory at once until now; 0 if the system does not say. Unlike
// getrusage, it does not count the program that started this one.
int64_t PeakMemoryBytes();

}  // namespace reprise

#endif  // CORE_MACHINE_MEMORY_H_
