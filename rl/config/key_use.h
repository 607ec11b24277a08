#ifndef RL_CONFIG_KEY_USE_H_
#define RL_CONFIG_KEY_USE_H_

// Which keys have a reader under which choices. Keys that the table leaves out have one always, or are checked beside
// others elsewhere (rl/config/check.cc, rl/config/unread_keys.cc, rl/algorithm).

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"

namespace reprise::rl {

struct KeyUse {
  absl::string_view key;  // "algorithm.gamma"
  bool (*is_read)(const Config& config, const AlgorithmRow& row);
  absl::string_view needs;  // what would make it so
};

// In the order in which they are told of: what decides stands before what hangs on it.
absl::Span<const KeyUse> KeyUses();

// Whether anything reads the key. row: what config.algorithm comes to (AlgorithmOf). Pure.
bool IsRead(absl::string_view key, const Config& config, const AlgorithmRow& row);

}  // namespace reprise::rl

#endif  // RL_CONFIG_KEY_USE_H_
