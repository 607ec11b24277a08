#include "data/memory/operation.h"

#include "core/config/unknown_name.h"

namespace reprise::data {

absl::StatusOr<MemoryOperation> ParseMemoryOperation(absl::string_view name) {
  return ParseName<MemoryOperation>("memory operation", name, kMemoryOperationNames);
}

}  // namespace reprise::data
