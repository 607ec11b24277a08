#ifndef RL_CONFIG_UNREAD_KEYS_H_
#define RL_CONFIG_UNREAD_KEYS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/config/config.h"
#include "rl/config/load.h"

namespace reprise::rl {

// The keys that say something else than they would if they were left out, and that nothing reads (rl/config/key_use.h),
// in the order in which they are told of. InvalidArgument where [algorithm] makes no algorithm. Pure.
absl::StatusOr<std::vector<std::string>> UnreadKeys(const Config& config);

// InvalidArgument, with what it needs, for the first of them. For what somebody writes: a run that stands in an
// artifact is what it is. Pure.
absl::Status CheckKeysAreRead(const Config& config);

// Of optimizer.warmup_steps beyond run.steps, with which the learning rate never comes to what
// optimizer.learning_rate says: InvalidArgument, but where a run was only cut short on the command line a sentence to
// warn with. Empty where the warm-up ends. Pure.
absl::StatusOr<std::string> CheckWarmUpEnds(const Config& config, const config::Origins& origins);

}  // namespace reprise::rl

#endif  // RL_CONFIG_UNREAD_KEYS_H_
