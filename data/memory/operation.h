#ifndef DATA_MEMORY_OPERATION_H_
#define DATA_MEMORY_OPERATION_H_

// The six operations on a memory. Their order is that of the logits of an action head: everything that numbers or names
// operations uses this enumeration.

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::data {

enum class MemoryOperation : uint8_t {
  kAdd = 0,  // of the long-term store
  kUpdate = 1,
  kDelete = 2,
  kRetrieve = 3,  // of the short-term buffer
  kSummary = 4,
  kFilter = 5,
};

inline constexpr size_t kMemoryOperationCount = 6;

// In the order of the enumeration.
inline constexpr std::array<absl::string_view, kMemoryOperationCount> kMemoryOperationNames = {
    "add", "update", "delete", "retrieve", "summary", "filter"};

constexpr absl::string_view NameOf(MemoryOperation operation) {
  return kMemoryOperationNames[static_cast<size_t>(operation)];
}

// Returns the operation with this lower-case name. InvalidArgument, suggesting the nearest name, for any other text.
absl::StatusOr<MemoryOperation> ParseMemoryOperation(absl::string_view name);

// Returns whether the operation changes the long-term store: add, update and delete. The others use the short-term
// buffer.
constexpr bool IsLongTerm(MemoryOperation operation) { return operation <= MemoryOperation::kDelete; }

}  // namespace reprise::data

#endif  // DATA_MEMORY_OPERATION_H_
