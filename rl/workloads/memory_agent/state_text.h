#ifndef RL_WORKLOADS_MEMORY_AGENT_STATE_TEXT_H_
#define RL_WORKLOADS_MEMORY_AGENT_STATE_TEXT_H_

// The text of a state, which the policy's encoder reads: "key: value" pairs in the order in which they were added,
// joined by "; ", with values as Python's str() writes them:
//   operation: pending; step: 1; total_steps: 4; history: ['add']

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace reprise::rl {

// monostate: Python's None.
using StateValue = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<std::string>>;
using AgentState = std::vector<std::pair<std::string, StateValue>>;

// Returns str(value): texts unchanged, integers in decimal, True, False and None. Floats have the fewest digits that
// read back as the same number, in Python's form (0.1, 1.0, 1e-05, 1e+16, inf, nan). Lists are "['add', 'filter']",
// each text as repr() writes it; characters beyond ASCII are kept there, as repr() does with printable ones. Pure.
std::string PythonStr(const StateValue& value);

// Pure.
std::string StateText(const AgentState& state);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_STATE_TEXT_H_
