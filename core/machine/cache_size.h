#ifndef CORE_MACHINE_CACHE_SIZE_H_
#define CORE_MACHINE_CACHE_SIZE_H_

// How large this machine's caches are: for choices of speed, on which no bit may depend.

#include <cstdint>

#include "absl/strings/string_view.h"

namespace reprise {

// Where neither the kernel nor the C library knows better.
inline constexpr int64_t kUsualLastLevelCacheBytes = int64_t{32} << 20;

// Bytes of the last-level cache that a core reaches, > 0. Asked once. Thread-safe.
int64_t LastLevelCacheBytes();

// Bytes of the cache of the highest level that `folder` describes as Linux does (a folder index0, index1, ... each,
// with files `level` and `size`); 0 if it describes none.
int64_t LargestLevelIn(absl::string_view folder);

}  // namespace reprise

#endif  // CORE_MACHINE_CACHE_SIZE_H_
