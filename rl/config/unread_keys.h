#ifndef RL_CONFIG_UNREAD_KEYS_H_
#define RL_CONFIG_UNREAD_KEYS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/config/load.h"

namespace reprise::rl {

// InvalidArgument, with what it needs, for a key that says something else than it would if it were left out, and that
// nothing reads (rl/config/key_use.h). For what somebody writes: a run that stands in an artifact is what it is. Pure.
absl::Status CheckKeysAreRead(const Config& config);

// Of optimizer.warmup_steps beyond run.steps, with which the learning rate never comes to what
// optimizer.learning_rate says: InvalidArgument, but where a run was only cut short on the command line a sentence to
// warn with. Empty where the warm-up ends. Pure.
absl::StatusOr<std::string> CheckWarmUpEnds(const Config& config, const config::Origins& origins);

}  // namespace reprise::rl

#endif  // RL_CONFIG_UNREAD_KEYS_H_
