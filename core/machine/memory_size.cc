#include "core/machine/memory_size.h"

#include <unistd.h>

#include <limits>

namespace reprise {

int64_t MachineMemoryBytes() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && bytes > 0 ? pages * bytes : std::numeric_limits<int64_t>::max();
}

}  // namespace reprise
