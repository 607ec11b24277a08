#ifndef RL_CONFIG_UNREAD_KEYS_H_
#define RL_CONFIG_UNREAD_KEYS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/config/config.h"
#include "rl/config/load.h"

namespace reprise::rl {

// Returns the keys whose values differ from their defaults although nothing reads them (config::Field::conditions), in
// the order in which they are reported. InvalidArgument where [algorithm] is invalid. Pure.
absl::StatusOr<std::vector<std::string>> UnreadKeys(const Config& config);

// Returns the keys whose values differ from their defaults, or, in [algorithm], from what its preset and its other keys
// make of them; read or not, in the order of listing. Pure.
std::vector<std::string> ChosenKeys(const Config& config);

// Returns InvalidArgument for the first key that only another workload reads. To be called before CheckConfig, whose
// advice is about the workload that reads the keys. Pure.
absl::Status CheckKeysOfWorkload(const Config& config);

// Returns InvalidArgument for the first unread key, with the condition that it needs, for rewards whose weights are all
// 0, and for iterations that the loss would take for one. For configurations that a user writes, not for those of
// artifacts. Pure.
absl::Status CheckKeysAreRead(const Config& config);

// Checks for what run.steps ends too early for: an optimizer.warmup_steps beyond it, with which the learning rate never
// reaches optimizer.learning_rate, is InvalidArgument, or a warning where the run was only shortened on the command
// line; an evaluation.every beyond it is a warning. Returns the warnings. Pure.
absl::StatusOr<std::vector<std::string>> CheckRunIsLongEnough(const Config& config, const config::Origins& origins);

}  // namespace reprise::rl

#endif  // RL_CONFIG_UNREAD_KEYS_H_
