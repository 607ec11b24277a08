#ifndef RL_RUN_PATH_KEYS_H_
#define RL_RUN_PATH_KEYS_H_

// The keys whose values are paths of files that a run reads: the one place that lists them. A run stores the files'
// digests and never the paths.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rl/config/config.h"

namespace reprise::rl {

// What the configuration of a stored run has in place of a path.
inline constexpr absl::string_view kExternal = "external";

struct PathKey {
  absl::string_view section, key;
  std::string& (*path)(Config& config);
  // Returns names of external files that every run with the path stores.
  std::vector<std::string> (*files)(const Config& config);
  absl::string_view flag;     // gives the path where a stored run is executed or evaluated
  absl::string_view what;     // it leads to, for messages: "the run read no ..."
  absl::string_view missing;  // a sentence for a stored run without the flag
};

absl::Span<const PathKey> PathKeys();

// Returns the key whose path the flag gives: of several the one that the run's workload reads, else the first. An
// unknown flag is a failed check. Pure.
const PathKey& PathKeyOf(absl::string_view flag, const Config& config);

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
