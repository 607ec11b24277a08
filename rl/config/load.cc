#include "rl/config/load.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/config/print.h"
#include "core/status/status_macros.h"
#include "models/lora/lora_config.h"
#include "rl/config/algorithm_choice.h"
#include "rl/config/check.h"
#include "rl/config/workload_keys.h"

namespace reprise::rl {
namespace {

config::FieldList FieldsOf(Config& config) {
  config::FieldList list;
  Visit(list, config);
  return list;
}

// Returns the names of the modules that have adapters, in the order of the network.
std::string NamesOf(const models::LoraConfig& adapters) {
  std::vector<absl::string_view> names;
  for (size_t module = 0; module < models::kLoraModuleNames.size(); ++module) {
    if (adapters.targets[module]) names.push_back(models::kLoraModuleNames[module]);
  }
  return absl::StrJoin(names, " ");
}

constexpr absl::string_view kPreface = R"(# Configuration

This page is generated from the program and lists every key. A configuration is a TOML file of sections and keys:

```toml
[rollout]
num_generations = 16
```

A value given on the command line, `--set rollout.num_generations=16`, overrides the file, and the file overrides the
default; `--unset rollout.num_generations` removes the file's value. An unknown key is an error.
`validate CONFIG --print-config` prints every value with its origin. Names and defaults follow TRL where TRL has them.

)";

}  // namespace

absl::StatusOr<ResolvedConfig> LoadConfig(absl::string_view text, absl::string_view file_name,
                                          absl::Span<const std::string> overrides,
                                          absl::Span<const std::string> unset) {
  ResolvedConfig resolved;
  RETURN_IF_ERROR(config::Resolve(text, file_name, overrides, FieldsOf(resolved.config), resolved.origins, unset));
  ASSIGN_OR_RETURN(const std::vector<std::string> filled, FillAlgorithm(&resolved.config.algorithm));
  for (const std::string& key : filled) {
    resolved.origins[key] = absl::StrCat("algorithm.name ", resolved.config.algorithm.name);
  }
  resolved.canonical = CanonicalConfig(resolved.config);
  resolved.digest = Sha256(resolved.canonical);
  return resolved;
}

std::string CanonicalConfig(const Config& config) {
  Config copy = config;
  copy.algorithm = WithoutOwnChoices(WithOwnValues(config.algorithm));
  copy.lora.target_modules = NamesOf(AdaptersOf(config.lora));  // a set: order and repetition mean nothing
  return config::CanonicalText(FieldsOf(copy), [&](const config::Field& field) {
    return WorkloadReads(config.run.workload, field.section, field.key);
  });
}

std::string PrintConfig(const ResolvedConfig& resolved) {
  Config copy = resolved.config;
  return config::PrintWithOrigins(FieldsOf(copy), resolved.origins);
}

std::string ConfigReferenceMarkdown() {
  Config defaults;
  return absl::StrCat(kPreface, config::ReferenceMarkdown(FieldsOf(defaults)));
}

}  // namespace reprise::rl
