#ifndef RL_WORKLOAD_PATH_KEY_H_
#define RL_WORKLOAD_PATH_KEY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "rl/config/config.h"

namespace reprise::rl {

// A key whose value is the path of files that a run reads. A run stores the files' digests and never the path.
struct PathKey {
  absl::string_view section, key;
  std::string& (*path)(Config& config);
  // Returns names of external files that every run with the path stores.
  std::vector<std::string> (*files)(const Config& config);
  absl::string_view flag;     // gives the path where a stored run is executed or evaluated
  absl::string_view what;     // it leads to, for messages: "the run read no ..."
  absl::string_view missing;  // a sentence for a stored run without the flag
};

}  // namespace reprise::rl

#endif  // RL_WORKLOAD_PATH_KEY_H_
