#include "rl/memory_agent/actions.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "core/config/unknown_name.h"
#include "core/status/check.h"

namespace reprise::rl {
namespace {

const MemoryActionEntry& EntryOf(MemoryAction action) {
  CHECK(IsMemoryAction(static_cast<int64_t>(action)));
  return kMemoryActions[static_cast<size_t>(action)];
}

}  // namespace

absl::string_view NameOf(MemoryAction action) { return EntryOf(action).name; }

std::string IdentifierOf(MemoryAction action) { return absl::AsciiStrToUpper(NameOf(action)); }

MemoryKind KindOf(MemoryAction action) { return EntryOf(action).kind; }

absl::StatusOr<MemoryAction> ParseMemoryAction(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const MemoryActionEntry& entry : kMemoryActions) names.push_back(entry.name);
  return ParseName<MemoryAction>("memory action", name, names);
}

}  // namespace reprise::rl
