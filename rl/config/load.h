#ifndef RL_CONFIG_LOAD_H_
#define RL_CONFIG_LOAD_H_

// Converts a run's configuration from text and to text. All functions are pure.

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/config/resolve.h"
#include "core/digest/sha256.h"
#include "rl/config/config.h"

namespace reprise::rl {

struct ResolvedConfig {
  Config config;
  config::Origins origins;  // of values that are not defaults of the program
  std::string canonical;    // CanonicalConfig(config)
  Digest digest;            // its SHA-256
};

// Applies the defaults, then the TOML text of the file (whose name is used only in messages) without the keys in
// `unset`, then each override `section.key=value`. Every value has its type and is in its range; for cross-field
// validation see CheckConfig; that of [algorithm] is done. InvalidArgument with the place, the range and the nearest
// known name.
absl::StatusOr<ResolvedConfig> LoadConfig(absl::string_view text, absl::string_view file_name,
                                          absl::Span<const std::string> overrides,
                                          absl::Span<const std::string> unset = {});

// Returns the semantic keys that the run reads as sorted lines `section.key = value`; the SHA-256 of this text
// identifies the configuration. LoadConfig reads it back.
std::string CanonicalConfig(const Config& config);

// Returns the names of the keys that algorithm.name sets: those whose values differ between presets. The reference
// stays valid.
const std::set<std::string>& PresetKeys();

// Returns all keys as TOML, each with the origin of its value as a comment.
std::string PrintConfig(const ResolvedConfig& resolved);

// Returns the page docs/configuration.md.
std::string ConfigReferenceMarkdown();

}  // namespace reprise::rl

#endif  // RL_CONFIG_LOAD_H_
