#ifndef RL_CONFIG_UNREAD_KEYS_H_
#define RL_CONFIG_UNREAD_KEYS_H_

#include "absl/status/status.h"
#include "rl/config/config.h"

namespace reprise::rl {

// InvalidArgument, with what it needs, for a key that says something else than it would if it were left out, and that
// nothing reads (rl/config/key_use.h). For what somebody writes: a run that stands in an artifact is what it is. Pure.
absl::Status CheckKeysAreRead(const Config& config);

}  // namespace reprise::rl

#endif  // RL_CONFIG_UNREAD_KEYS_H_
