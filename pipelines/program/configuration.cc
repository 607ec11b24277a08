#include "pipelines/program/configuration.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/config/resolve.h"
#include "core/config/toml_reader.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
#include "core/io/foreign_format.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/config/check.h"
#include "rl/config/unread_keys.h"
#include "rl/config/workload_traits.h"
#include "rl/run/path_keys.h"

namespace reprise {
namespace {

// Describes a file that is not TOML; "" where it may be TOML with a mistake.
absl::string_view OtherFormat(absl::string_view text) {
  if (absl::StrContains(text, '\0')) {
    return "is not text: for a run.h5, give its path to reproduce, evaluate, inspect, export or compare";
  }
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || absl::StartsWith(line, "#")) continue;
    if (absl::StartsWith(line, "{")) return "looks like JSON";
    if (absl::StrContains(line, '=') || absl::StartsWith(line, "[")) return "";
    if (line == "---" || absl::StartsWith(line, "- ") || absl::EndsWith(line, ":") || absl::StrContains(line, ": ")) {
      return "looks like YAML";
    }
    return absl::StrContains(line, ',') ? "looks like CSV" : "";
  }
  return "";
}

// Whether the text is that of a sweep's file (docs/sweeps.md), whose parts are no sections of a configuration.
bool IsOfSweep(absl::string_view text, const std::string& name) {
  const absl::StatusOr<config::TomlNode> root = config::ReadTomlTree(text, name);
  if (!root.ok()) return false;
  const config::TomlNode* const base = root->Find("config");
  return root->Find("grid") != nullptr || root->Find("variants") != nullptr || root->Find("random") != nullptr ||
         (base != nullptr && base->kind == config::TomlNode::Kind::kValue);
}

// Resolves the file alone. For a file of another format, the error names it.
absl::StatusOr<rl::ResolvedConfig> LoadFile(absl::string_view text, const std::string& path) {
  absl::StatusOr<rl::ResolvedConfig> alone = rl::LoadConfig(text, path, {});
  if (alone.ok()) return alone;
  if (IsOfSweep(text, path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is the file of a sweep, and no configuration: ./reprise sweep ", path, " --dry-run checks it"));
  }
  const absl::string_view other = ForeignFormat(text).empty() ? OtherFormat(text) : "";  // else the error names it
  if (other.empty()) return alone;
  return absl::Status(alone.status().code(),
                      absl::StrCat(alone.status().message(),
                                   "; a configuration is TOML, with lines such as [rollout] and num_generations = 16 "
                                   "below them, and this file ",
                                   other));
}

// Returns the keys of the file (`alone` is resolved from the file only) that nothing reads any more.
std::vector<std::string> FileKeysMadeUnused(const rl::ResolvedConfig& resolved, const rl::ResolvedConfig& alone) {
  const absl::StatusOr<std::vector<std::string>> unread = rl::UnreadKeys(resolved.config),
                                                 before = rl::UnreadKeys(alone.config);
  std::vector<std::string> keys;
  if (!unread.ok() || !before.ok()) return keys;  // reported by other checks
  for (const std::string& key : *unread) {
    const auto origin = resolved.origins.find(key), written = alone.origins.find(key);
    const bool is_of_file = origin != resolved.origins.end() && written != alone.origins.end() &&
                            origin->second == written->second && origin->second != "--set";
    if (is_of_file && std::find(before->begin(), before->end(), key) == before->end()) keys.push_back(key);
  }
  return keys;
}

absl::Status RejectSection(absl::string_view option, const std::string& argument,
                           const std::vector<std::string>& sections) {
  return absl::InvalidArgumentError(absl::StrCat(option, " ", argument, ": only keys of [",
                                                 absl::StrJoin(sections, "] and ["),
                                                 "] may be set; all others are fixed by the run"));
}

bool IsOfSections(absl::string_view argument, const std::vector<std::string>& sections) {
  return std::any_of(sections.begin(), sections.end(), [&](const std::string& section) {
    return absl::StartsWith(absl::StripLeadingAsciiWhitespace(argument), section + ".");
  });
}

// Makes the paths that the file gives relative to the working directory instead of the file's.
void PlacePaths(const std::string& path, rl::ResolvedConfig* resolved) {
  // Standard input, and what a shell passes on as a descriptor, have no folder of their own.
  const bool has_folder = absl::StrContains(path, '/') && !absl::StartsWith(path, "/dev/");
  const std::string directory = has_folder ? DirectoryOf(path) : "";
  for (const rl::PathKey& key : rl::PathKeys()) {
    const auto origin = resolved->origins.find(absl::StrCat(key.section, ".", key.key));
    if (origin == resolved->origins.end() || origin->second == config::kFromOverride) continue;
    std::string& value = key.path(resolved->config);
    value = rl::PathFrom(directory, value);
  }
  resolved->canonical = rl::CanonicalConfig(resolved->config);
  resolved->digest = Sha256(resolved->canonical);
}

// Leaves the folder out of the origins, which --print-config shows beside each value.
void ShortenOrigins(const std::string& path, rl::ResolvedConfig* resolved) {
  const size_t folder = path.rfind('/') + 1;
  for (auto& [key, origin] : resolved->origins) {
    if (absl::StartsWith(origin, absl::StrCat(path, ":"))) origin.erase(0, folder);
  }
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  const absl::StatusOr<FileInfo> info = PosixFileSystem().Stat(path);
  if (info.ok() && !info->is_directory && info->size > kMostConfigurationBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", info->size, " bytes; a configuration has at most ", kMostConfigurationBytes));
  }
  return ReadFile(PosixFileSystem(), path, kMostConfigurationBytes);
}

}  // namespace

absl::StatusOr<rl::ResolvedConfig> LoadConfiguration(const std::string& path, const KeyEdits& edits, Logger* logger) {
  std::string text;
  if (!path.empty()) {
    ASSIGN_OR_RETURN(text, ReadText(path));
  }
  ASSIGN_OR_RETURN(const rl::ResolvedConfig alone, LoadFile(text, path));
  ASSIGN_OR_RETURN(rl::ResolvedConfig resolved, rl::LoadConfig(text, path, edits.set, edits.unset));
  std::vector<std::string> unset = edits.unset, left_out;
  for (;;) {
    const std::vector<std::string> keys = FileKeysMadeUnused(resolved, alone);
    if (keys.empty()) break;
    left_out.insert(left_out.end(), keys.begin(), keys.end());
    unset.insert(unset.end(), keys.begin(), keys.end());
    ASSIGN_OR_RETURN(resolved, rl::LoadConfig(text, path, edits.set, unset));
  }
  if (!left_out.empty() && logger != nullptr) {
    logger->Warning(absl::StrCat("ignored in ", path, ", because nothing reads it with the command line's settings: ",
                                 absl::StrJoin(left_out, ", ")));
  }
  PlacePaths(path, &resolved);
  ShortenOrigins(path, &resolved);
  return resolved;
}

absl::StatusOr<rl::ResolvedConfig> ReadConfiguration(const std::string& path, const KeyEdits& edits, int64_t ranks,
                                                     Logger* logger) {
  ASSIGN_OR_RETURN(rl::ResolvedConfig resolved, LoadConfiguration(path, edits, logger));
  RETURN_IF_ERROR(rl::CheckKeysOfWorkload(resolved.config));
  RETURN_IF_ERROR(rl::CheckConfig(resolved.config, ranks));
  return resolved;
}

absl::Status OverrideExecution(const KeyEdits& edits, rl::Config* config) {
  return OverrideSections(edits, {"execution"}, config);
}

absl::Status OverrideSections(const KeyEdits& edits, const std::vector<std::string>& sections, rl::Config* config) {
  rl::Config defaults;
  config::FieldList fields, default_fields;
  Visit(fields, *config);
  Visit(default_fields, defaults);
  for (const std::string& name : edits.unset) {
    const absl::StatusOr<const config::Field*> field = config::FindByName(name, fields);
    if (!field.ok()) return WithContext(field.status(), absl::StrCat("--unset ", name));
    if (!IsOfSections(name, sections)) return RejectSection("--unset", name, sections);
    RETURN_IF_ERROR((*field)->Set((*config::FindByName(name, default_fields))->Get()));
  }
  config::Settings settings(fields);
  for (const std::string& argument : edits.set) {
    const bool names_key = absl::StrContains(argument, '=');
    if (names_key && !IsOfSections(argument, sections)) return RejectSection("--set", argument, sections);
    RETURN_IF_ERROR(settings.AddOverride(argument));
  }
  config::Origins origins;
  settings.Store(origins);
  for (const auto& [name, origin] : origins) {
    if ((*config::FindByName(name, fields))->IsInScope()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--set ", name, ": run.workload ", config->run.workload, " does not read it: remove the option"));
  }
  return absl::OkStatus();
}

}  // namespace reprise
