#ifndef RL_MEMORY_AGENT_ACTIONS_H_
#define RL_MEMORY_AGENT_ACTIONS_H_

// The actions of a memory agent. kMemoryActions is the one place that lists them: their numbers, names, identifiers and
// kinds follow from it, and so do the rows of the policy's action head.

#include <cstdint>
#include <iterator>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::rl {

// The memory that an action works on: the long-term store, or the short-term buffer.
enum class MemoryKind { kLongTerm, kShortTerm };

struct MemoryActionEntry {
  absl::string_view name;
  MemoryKind kind;
};

// In the order of the action head's outputs, which is that of stored action numbers: do not change it.
inline constexpr MemoryActionEntry kMemoryActions[] = {
    {"add", MemoryKind::kLongTerm},       {"update", MemoryKind::kLongTerm},   {"delete", MemoryKind::kLongTerm},
    {"retrieve", MemoryKind::kShortTerm}, {"summary", MemoryKind::kShortTerm}, {"filter", MemoryKind::kShortTerm},
};
inline constexpr int32_t kNumMemoryActions = static_cast<int32_t>(std::size(kMemoryActions));

// Returns the number of the action with this name. A name that is not listed does not compile.
consteval int32_t NumberOfMemoryAction(absl::string_view name) {
  for (int32_t number = 0; number < kNumMemoryActions; ++number) {
    if (kMemoryActions[number].name == name) return number;
  }
  throw "the name is not in kMemoryActions";
}

enum class MemoryAction : int32_t {
  kAdd = NumberOfMemoryAction("add"),
  kUpdate = NumberOfMemoryAction("update"),
  kDelete = NumberOfMemoryAction("delete"),
  kRetrieve = NumberOfMemoryAction("retrieve"),
  kSummary = NumberOfMemoryAction("summary"),
  kFilter = NumberOfMemoryAction("filter"),
};

inline bool IsMemoryAction(int64_t number) { return number >= 0 && number < kNumMemoryActions; }

// Returns "add"; an action that is not listed is a failed check, here as below.
absl::string_view NameOf(MemoryAction action);
// Returns "ADD".
std::string IdentifierOf(MemoryAction action);
MemoryKind KindOf(MemoryAction action);

// Returns the action with this name, in lower case. InvalidArgument, which lists the names, for any other.
absl::StatusOr<MemoryAction> ParseMemoryAction(absl::string_view name);

}  // namespace reprise::rl

#endif  // RL_MEMORY_AGENT_ACTIONS_H_
