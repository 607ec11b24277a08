#ifndef RL_CONFIG_WORKLOAD_KEYS_H_
#define RL_CONFIG_WORKLOAD_KEYS_H_

#include "absl/strings/string_view.h"

namespace reprise::rl {

// Returns whether a run of the workload can read the key. Further conditions are in key_use.h. Pure.
bool WorkloadReads(absl::string_view workload, absl::string_view section, absl::string_view key);

// Returns a workload that can read the key. Pure.
absl::string_view ReaderOf(absl::string_view section, absl::string_view key);

}  // namespace reprise::rl

#endif  // RL_CONFIG_WORKLOAD_KEYS_H_
