#ifndef PIPELINES_STORED_KNOWN_CONFIG_H_
#define PIPELINES_STORED_KNOWN_CONFIG_H_

// Runs of another build, whose configuration may have keys and values that this one does not know. What their weights
// are is known all the same: it is in other keys.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipelines/stored/stored_run.h"
#include "rl/config/config.h"

namespace reprise {

struct KnownConfig {
  rl::Config config;                 // with the defaults of what is not known
  std::vector<std::string> unknown;  // the lines that are not known: `algorithm.loss_type = "spo"`
};

// Parses the lines of a stored configuration one by one. DataLoss for what no run stores (ParseStoredConfig).
absl::StatusOr<KnownConfig> ParseKnownConfig(const std::string& text);

// Interprets a run of which only the weights are needed: as Interpret, and if that fails because of a configuration
// that this program does not know, sets run->config to what it knows and leaves run->steps empty. Returns the unknown
// lines. DataLoss also if the weights that the run stores are not those of a model that the known lines describe.
absl::StatusOr<std::vector<std::string>> InterpretWeights(const std::string& path, StoredRun* run);

}  // namespace reprise

#endif  // PIPELINES_STORED_KNOWN_CONFIG_H_
