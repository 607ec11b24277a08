#include "pipelines/sweeps/trials/trial_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/config/field_list.h"
#include "core/config/resolve.h"
#include "core/digest/sha256.h"
#include "core/status/status_macros.h"
#include "pipelines/stored/stored_run.h"
#include "rl/config/config.h"
#include "rl/config/load.h"
#include "rl/config/unread_keys.h"
#include "rl/config/workload_traits.h"
#include "rl/run/path_keys.h"

namespace reprise {
namespace {

constexpr char kAlgorithm[] = "algorithm.name", kPreset[] = "optimizer.preset", kSeed[] = "run.seed";
constexpr char kModelFiles[] = "model/";
constexpr size_t kShownDigits = 12;

std::string Shown(const std::string& hex) { return hex.substr(0, kShownDigits); }

std::string DigestText(absl::Span<const ExternalFile> files) {
  std::string text;
  for (const ExternalFile& file : files) absl::StrAppend(&text, file.name, " ", ToHex(file.sha256), "\n");
  return text;
}

// The files that the path key `axis` leads to.
std::vector<ExternalFile> SelectFiles(const rl::PathKey& axis, absl::Span<const ExternalFile> files) {
  std::vector<ExternalFile> of_axis;
  for (const ExternalFile& file : files) {
    const bool is_held_out = file.name == "data/held_out", is_model = absl::StartsWith(file.name, kModelFiles);
    const bool is_it = axis.flag == "--model"      ? is_model
                       : axis.flag == "--held-out" ? is_held_out
                                                   : !is_model && !is_held_out;
    if (is_it) of_axis.push_back(file);
  }
  return of_axis;
}

// The digest of the files of a path; "" without any.
std::string PathDigest(const rl::PathKey& key, absl::Span<const ExternalFile> files) {
  const std::vector<ExternalFile> of_key = SelectFiles(key, files);
  if (of_key.empty()) return "";
  const bool is_one = of_key.size() == 1;
  return absl::StrCat("sha256:", Shown(ToHex(is_one ? of_key[0].sha256 : Sha256(DigestText(of_key)))));
}

std::map<std::string, std::string> ListLiterals(rl::Config& config) {
  std::map<std::string, std::string> literals;
  config::FieldList fields;
  Visit(fields, config);
  for (const config::Field& field : fields.fields()) {
    if (field.kind == config::Kind::kSemantic) literals[field.Name()] = config::Literal(field.Get());
  }
  return literals;
}

const std::map<std::string, std::string>& Defaults() {
  static const std::map<std::string, std::string>* const kDefaults = [] {
    rl::Config defaults;
    return new std::map<std::string, std::string>(ListLiterals(defaults));
  }();
  return *kDefaults;
}

// Whether the value of `key` may follow from that of the axis.
bool IsBroughtBy(absl::string_view axis, const std::string& key) {
  if (axis == kAlgorithm) return rl::PresetKeys().contains(key);
  return axis == kPreset && (absl::StartsWith(key, "optimizer.") || key == "algorithm.beta");
}

// Whether the line sets a key of the problem. Keys at their defaults are left out: whether a text has them may depend
// on keys of other kinds, which say what reads them.
bool IsOfProblem(absl::string_view line) {
  const std::pair<absl::string_view, absl::string_view> key_value = absl::StrSplit(line, absl::MaxSplits(" = ", 1));
  const auto standard = Defaults().find(std::string(key_value.first));
  if (standard == Defaults().end() || standard->second == key_value.second) return false;
  const size_t dot = key_value.first.find('.');
  return rl::DescribesProblem(key_value.first.substr(0, dot), key_value.first.substr(dot + 1));
}

// The lines of a canonical text whose keys are wanted.
template <typename IsWanted>
std::string Lines(const std::string& text, const IsWanted& is_wanted) {
  std::string lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (is_wanted(std::string(line.substr(0, line.find(' '))))) absl::StrAppend(&lines, line, "\n");
  }
  return lines;
}

// Which keys a text has, and the algorithm's own values in it, may follow from an axis: the rest is what was chosen.
std::vector<std::pair<std::string, std::string>> RemainingText(rl::Config& config, absl::Span<const ExternalFile> files,
                                                               absl::Span<const std::string> axes) {
  const auto is_of_rest = [&](const std::string& key) {
    return std::none_of(axes.begin(), axes.end(),
                        [&](const std::string& axis) { return axis == key || IsBroughtBy(axis, key); });
  };
  std::map<std::string, std::string> literals = ListLiterals(config), rest;
  for (const std::string& key : rl::ChosenKeys(config)) {
    if (const auto found = literals.find(key); found != literals.end() && is_of_rest(key)) rest.insert(*found);
  }
  for (const rl::PathKey& path : rl::PathKeys()) {
    const std::string key = absl::StrCat(path.section, ".", path.key), digest = PathDigest(path, files);
    if (!digest.empty() && is_of_rest(key)) rest[key] = digest;
  }
  return {rest.begin(), rest.end()};
}

void SetSettings(rl::Config& config, absl::Span<const ExternalFile> files, absl::Span<const std::string> axes,
                 TrialFacts* facts) {
  config::FieldList fields;
  Visit(fields, config);
  for (const std::string& axis : axes) {
    const config::Field& field = **config::FindByName(axis, fields);
    facts->values.push_back(field.Get());
    std::string& setting = facts->settings.emplace_back();
    const rl::PathKey* const path = rl::FindPathKey(axis);
    if (path != nullptr) {  // a stored configuration lacks it, and so may not say what reads it
      if (field.IsInScope()) setting = PathDigest(*path, files);
    } else if (axis != kPreset && field.FirstUnmet() == nullptr) {
      setting = config::Literal(field.Get());
    }
  }
}

void SetKeys(rl::Config& config, absl::Span<const ExternalFile> files, TrialFacts* facts) {
  config::FieldList fields;
  Visit(fields, config);
  std::map<std::string, std::string> set;  // in the order of their names
  std::map<std::string, bool> is_read;
  for (const config::Field& field : fields.fields()) {
    const std::string key = field.Name();
    if (field.kind != config::Kind::kSemantic) continue;
    const rl::PathKey* const path = rl::FindPathKey(key);
    is_read[key] = path != nullptr ? field.IsInScope() : field.FirstUnmet() == nullptr;
    if (key == kSeed || !is_read[key]) continue;
    const std::string literal = path == nullptr ? config::Literal(field.Get()) : PathDigest(*path, files);
    if (literal != Defaults().at(key) && !(path != nullptr && literal.empty())) set[key] = literal;
  }
  facts->keys.assign(set.begin(), set.end());
  for (const auto& [key, is] : is_read) facts->is_read.push_back(is);
}

}  // namespace

std::string StoredText(const rl::Config& config) { return rl::CanonicalConfig(rl::WithoutPaths(config)); }

std::string ParseTrialProblem(const std::string& text, absl::Span<const ExternalFile> files) {
  std::string problem;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (IsOfProblem(line)) absl::StrAppend(&problem, line, "\n");
  }
  for (const ExternalFile& file : files) {
    const bool is_model = absl::StartsWith(file.name, kModelFiles);
    if (!is_model) absl::StrAppend(&problem, file.name, " ", ToHex(file.sha256), "\n");
  }
  return Shown(ToHex(Sha256(problem)));
}

std::string SettingSuffix(absl::string_view axis, absl::Span<const ExternalFile> files) {
  const rl::PathKey* const path = rl::FindPathKey(axis);
  const std::string digest = path == nullptr ? "" : PathDigest(*path, files);
  return digest.empty() ? "" : absl::StrCat(" ", digest);
}

bool IsWord(absl::string_view axis) { return rl::FindPathKey(axis) != nullptr || axis == kPreset; }

bool IsSetting(absl::string_view axis, const std::string& planned, const std::string& derived) {
  if (axis == kPreset) return true;
  if (rl::FindPathKey(axis) == nullptr) return planned == derived;
  if (derived.empty()) return !absl::StrContains(planned, "\" sha256:");
  return absl::StartsWith(planned, "\"") && absl::EndsWith(planned, absl::StrCat("\" ", derived));
}

absl::StatusOr<TrialFacts> ParseTrialFacts(const std::string& text, absl::Span<const ExternalFile> files,
                                           absl::Span<const std::string> axes) {
  ASSIGN_OR_RETURN(rl::Config config, ParseStoredConfig(text));
  TrialFacts facts = {.seed = config.run.seed,
                      .config_sha256 = ToHex(Sha256(text)),
                      .problem = ParseTrialProblem(text, files),
                      .identity = {},
                      .rest = RemainingText(config, files, axes)};
  const std::string of_variant = Lines(text, [](const std::string& key) { return key != kSeed; });
  facts.identity = ToHex(Sha256(absl::StrCat(of_variant, DigestText(files))));
  SetSettings(config, files, axes, &facts);
  SetKeys(config, files, &facts);
  facts.steps = config.run.steps;
  facts.ends = rl::EarlyEnds(config);
  return facts;
}

bool Reads(const TrialFacts& facts, const std::string& key) {
  const auto known = Defaults().find(key);
  if (known == Defaults().end() || facts.is_read.empty()) return known != Defaults().end();
  return facts.is_read.at(static_cast<size_t>(std::distance(Defaults().begin(), known)));
}

std::string ValueOfKey(const TrialFacts& facts, const std::string& key) {
  if (!Reads(facts, key)) return "";
  const auto found =
      std::find_if(facts.keys.begin(), facts.keys.end(), [&](const auto& each) { return each.first == key; });
  if (found != facts.keys.end()) return found->second;
  return Defaults().at(key);
}

std::vector<std::string> DifferingKeys(const TrialFacts& a, const TrialFacts& b) {
  std::vector<std::string> differing;
  auto of_a = a.keys.begin(), of_b = b.keys.begin();
  while (of_a != a.keys.end() || of_b != b.keys.end()) {
    const bool a_has = of_a != a.keys.end() && (of_b == b.keys.end() || of_a->first <= of_b->first);
    const bool b_has = of_b != b.keys.end() && (of_a == a.keys.end() || of_b->first <= of_a->first);
    if (!(a_has && b_has) || of_a->second != of_b->second) differing.push_back(a_has ? of_a->first : of_b->first);
    of_a += a_has ? 1 : 0;
    of_b += b_has ? 1 : 0;
  }
  return differing;
}

}  // namespace reprise
