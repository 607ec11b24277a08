#include "rl/config/load.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/config/print.h"
#include "core/config/toml_reader.h"
#include "core/status/status_macros.h"
#include "models/lora/lora_config.h"
#include "rl/config/algorithm_check.h"
#include "rl/config/check.h"

namespace reprise::rl {
namespace {

config::FieldList FieldsOf(Config& config) {
  config::FieldList list;
  Visit(list, config);
  return list;
}

// Returns the names of the modules that have adapters, in the order of the network.
std::string JoinTargets(const models::LoraConfig& adapters) {
  std::vector<absl::string_view> names;
  for (size_t module = 0; module < models::kLoraModuleNames.size(); ++module) {
    if (adapters.targets[module]) names.push_back(models::kLoraModuleNames[module]);
  }
  return absl::StrJoin(names, " ");
}

// Values of MuonGrokfast under a name, from the phases of Agent Forge V2 (docs/optimizers.md). Where its phase has a
// weight of the divergence, the preset has one, too. phase_3_v1 is an earlier version of phase_3.
struct Preset {
  absl::string_view name;
  std::vector<std::string> settings;
};

std::vector<Preset> Presets() {
  return {{"phase_1", {"learning_rate=1e-3", "grokfast_lambda=0.3", "qk_clip_threshold=30"}},
          {"phase_3", {"learning_rate=5e-4", "grokfast_lambda=0.1", "qk_clip_threshold=25", "beta=0.1"}},
          {"phase_3_v1",
           {"learning_rate=5e-4", "grokfast_lambda=0.1", "qk_clip_threshold=25", "beta=0.1", "ns_steps=3",
            "grokfast_alpha=0.95"}},
          {"phase_5", {"learning_rate=1e-3", "grokfast_lambda=2", "qk_clip_threshold=30"}},
          {"phase_6", {"learning_rate=1e-4", "grokfast_lambda=0.2", "qk_clip_threshold=30"}},
          {"phase_7", {"learning_rate=5e-4", "grokfast_lambda=0.15", "qk_clip_threshold=28", "beta=0.05"}}};
}

// Sets the keys of optimizer.preset that neither the file nor the command line sets and that the run reads.
absl::Status FillPreset(ResolvedConfig* resolved) {
  Config& config = resolved->config;
  if (config.optimizer.preset.empty()) return absl::OkStatus();
  const std::string origin = absl::StrCat("optimizer.preset ", config.optimizer.preset);
  const config::FieldList fields = FieldsOf(config);
  const auto fill = [&](absl::string_view section, const std::string& setting) -> absl::Status {
    const std::string key = setting.substr(0, setting.find('='));
    const std::string name = absl::StrCat(section, ".", key);
    if (resolved->origins.contains(name) || fields.Find(section, key)->FirstUnmet() != nullptr) return absl::OkStatus();
    config::Origins unused;
    RETURN_IF_ERROR(config::ApplyOverride(absl::StrCat(section, ".", setting), fields, unused));
    resolved->origins[name] = origin;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(fill("optimizer", "name=muon_grokfast"));
  for (const Preset& preset : Presets()) {
    if (preset.name != config.optimizer.preset) continue;
    for (const std::string& setting : preset.settings) {
      RETURN_IF_ERROR(fill(absl::StartsWith(setting, "beta=") ? "algorithm" : "optimizer", setting));
    }
  }
  return absl::OkStatus();
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
A reward sees a completion with its special tokens, which TRL's reward functions do not see.

Paths (`model.path`, `data.path`, `evaluation.path`, `morphogenesis.data_path`) in a file are relative to that file, also
in the file of a sweep; where the file is given by a symbolic link, to the folder of the link. Those of `--set` are
relative to the working directory. A run stores digests of what they lead to and no paths. `process.command` is no path: the shell runs it in the working directory.

)";

// Adds the origins of keys that nobody has set: the preset, or the keys that have moved them from its value.
void AddOriginsOfPreset(ResolvedConfig* resolved) {
  Config preset;
  preset.algorithm = FindAlgorithm(resolved->config.algorithm.name).value();
  const config::FieldList of_preset = FieldsOf(preset), fields = FieldsOf(resolved->config);
  for (size_t i = 0; i < fields.fields().size(); ++i) {
    const config::Field& field = fields.fields()[i];
    if (!PresetKeys().contains(field.Name())) continue;
    const bool is_of_preset = field.Get() == of_preset.fields()[i].Get();
    resolved->origins.emplace(field.Name(), is_of_preset ? absl::StrCat("algorithm.name ", preset.algorithm.name)
                                                         : "other keys of [algorithm]");
  }
}

}  // namespace

const std::set<std::string>& PresetKeys() {
  static const auto* const kKeys = [] {
    auto* const keys = new std::set<std::string>();
    Config grpo, other;
    const config::FieldList of_grpo = FieldsOf(grpo), of_other = FieldsOf(other);
    for (const AlgorithmPreset& preset : AlgorithmPresets()) {
      other.algorithm = preset.algorithm;
      for (size_t i = 0; i < of_grpo.fields().size(); ++i) {
        const config::Field& field = of_grpo.fields()[i];
        if (field.Get() != of_other.fields()[i].Get()) keys->insert(field.Name());
      }
    }
    keys->erase("algorithm.name");
    return keys;
  }();
  return *kKeys;
}

absl::StatusOr<ResolvedConfig> LoadConfig(absl::string_view text, absl::string_view file_name,
                                          absl::Span<const std::string> overrides,
                                          absl::Span<const std::string> unset) {
  ResolvedConfig resolved;
  RETURN_IF_ERROR(config::Resolve(text, file_name, overrides, FieldsOf(resolved.config), resolved.origins, unset));
  RETURN_IF_ERROR(FillPreset(&resolved));
  RETURN_IF_ERROR(CheckAlgorithm(resolved.config.algorithm));
  AddOriginsOfPreset(&resolved);
  resolved.canonical = CanonicalConfig(resolved.config);
  // A run stores this text and must be able to read it; with its escapes it may be longer than the file.
  if (resolved.canonical.size() > config::kLongestToml) {
    return absl::InvalidArgumentError(absl::StrCat("the configuration has ", resolved.canonical.size(),
                                                   " bytes in the form that a run stores; at most ",
                                                   config::kLongestToml, " are allowed: shorten its texts"));
  }
  resolved.digest = Sha256(resolved.canonical);
  return resolved;
}

std::string CanonicalConfig(const Config& config) {
  Config copy = config;
  copy.optimizer.preset.clear();                                    // its values are those of its keys
  copy.lora.target_modules = JoinTargets(AdaptersOf(config.lora));  // a set: order and repetition mean nothing
  return config::CanonicalText(FieldsOf(copy));
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
