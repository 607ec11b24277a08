#ifndef RL_CONFIG_BANDIT_SECTION_H_
#define RL_CONFIG_BANDIT_SECTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/field_list.h"
#include "rl/config/config.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

// Lists the keys of [bandit].
void VisitBandit(config::FieldList& list, BanditConfig& bandit, const Conditions& when);

// Returns whether the key describes the policy's network, not the problem. Pure.
bool ShapesBanditPolicy(absl::string_view section, absl::string_view key);

// Returns the widths in bandit.hidden. InvalidArgument, naming the word, for one that is no width.
absl::StatusOr<std::vector<int64_t>> HiddenWidths(const BanditConfig& bandit);

// InvalidArgument, naming the keys, for values that do not go together: a network or rewards of more than 2^24 weights.
absl::Status CheckBandit(const BanditConfig& bandit);

}  // namespace reprise::rl

#endif  // RL_CONFIG_BANDIT_SECTION_H_
