#ifndef CORE_MACHINE_MEMORY_SIZE_H_
#define CORE_MACHINE_MEMORY_SIZE_H_

#include <cstdint>

namespace reprise {

// Returns the bytes of this machine's memory, > 0; the greatest int64 if the system does not say.
int64_t MachineMemoryBytes();

}  // namespace reprise

#endif  // CORE_MACHINE_MEMORY_SIZE_H_
