#ifndef RL_RUN_PATH_KEYS_H_
#define RL_RUN_PATH_KEYS_H_

// The keys whose values are paths of files that a run reads: those of shared sections, and of the workloads' own
// (WorkloadKind).

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rl/config/config.h"
#include "rl/workload/path_key.h"

namespace reprise::rl {

// What the configuration of a stored run has in place of a path.
inline constexpr absl::string_view kExternal = "external";

// Returns the shared keys, then those of the kinds of workloads.
absl::Span<const PathKey> PathKeys();

// Returns the key whose path the flag gives: of several the one that the run's workload reads, else the first. An
// unknown flag is a failed check. Pure.
const PathKey& PathKeyForFlag(absl::string_view flag, const Config& config);

// Returns the key of this name, "data.path"; nullptr if it is none of a path. Pure.
const PathKey* FindPathKey(absl::string_view name);

// Returns a path that is relative to `directory` ("": the working directory) as one that this process can open; an
// absolute or empty one as it is, and an address (https://) or a name on the Hugging Face Hub too, for which a message
// then says what to do: a name that is OWNER/NAME while `directory` has no OWNER.
std::string PathFrom(absl::string_view directory, absl::string_view path);

// Returns the configuration as it is stored and hashed: with "external" in place of paths, since the files' digests,
// not their paths, are the run's identity. Pure.
Config WithoutPaths(Config config);

}  // namespace reprise::rl

#endif  // RL_RUN_PATH_KEYS_H_
