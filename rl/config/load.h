#ifndef RL_CONFIG_LOAD_H_
#define RL_CONFIG_LOAD_H_

// A run's configuration from text, and back to text. All pure.

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
  config::Origins origins;  // of the values that are no defaults
  std::string canonical;    // CanonicalConfig(config)
  Digest digest;            // its SHA-256
};

// Defaults, then the TOML text of the file (whose name is for messages alone) without the keys that `unset` names, then
// each `section.key=value`; the keys of [algorithm] that are left to the algorithm then have its values. Every value is
// of its type and in its range, but otherwise not yet checked against the others: see CheckConfig. InvalidArgument with
// the place, the range and the nearest known name.
absl::StatusOr<ResolvedConfig> LoadConfig(absl::string_view text, absl::string_view file_name,
                                          absl::Span<const std::string> overrides,
                                          absl::Span<const std::string> unset = {});

// The semantic keys as sorted lines `section.key = value`; the SHA-256 of this text identifies the configuration.
// LoadConfig reads it back.
std::string CanonicalConfig(const Config& config);

// All keys as TOML, with where each value came from as a comment.
std::string PrintConfig(const ResolvedConfig& resolved);

// The page docs/configuration.md.
std::string ConfigReferenceMarkdown();

}  // namespace reprise::rl

#endif  // RL_CONFIG_LOAD_H_
