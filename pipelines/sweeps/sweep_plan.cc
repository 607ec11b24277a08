#include "pipelines/sweeps/sweep_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/config/field_list.h"
#include "core/config/resolve.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/random/draw.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "kernels/math/scalar_math.h"
#include "pipelines/sweeps/score_metric.h"
#include "pipelines/sweeps/trials/trial_facts.h"
#include "pipelines/sweeps/trials/trial_name.h"
#include "rl/config/unread_keys.h"
#include "rl/config/workload_traits.h"
#include "rl/run/path_keys.h"

namespace reprise {
namespace {

// Step: index of the draw, token: the key that it is for; the settings of a sweep's trials.
constexpr Purpose kSweepSetting{12};

using config::Value;

constexpr size_t kMostTrials = 100'000;
constexpr char kSeed[] = "run.seed";

// One combination of settings, before it is a trial. `name_parts` are parallel to the settings after the variant's own.
struct Combination {
  const Variant* variant;
  std::string draw;                       // "draw07"; "" where nothing is drawn
  std::vector<Setting> drawn, from_grid;  // in the order of the file
};

// A number with four significant digits, within the range.
Value DrawNumber(const DrawnKey& key, double u) {
  const double low = key.is_log ? kernels::Log(key.low) : key.low;
  const double top = key.is_whole ? key.high + 1 : key.high;
  const double high = key.is_log ? kernels::Log(top) : top;
  const double at = low + (high - low) * u;
  const double number = std::clamp(key.is_log ? kernels::Exp(at) : at, key.low, key.high);
  if (key.is_whole) {
    constexpr double kTooLarge = 0x1p63;  // of an int64_t; a double near it cannot tell whole numbers apart
    return number < kTooLarge ? static_cast<int64_t>(std::floor(number)) : std::numeric_limits<int64_t>::max();
  }
  double rounded = number;
  return absl::SimpleAtod(absl::StrFormat("%.3e", number), &rounded) ? std::clamp(rounded, key.low, key.high) : number;
}

Value DrawValue(const DrawnKey& key, int64_t seed, uint64_t attempt, uint64_t token) {
  const DrawAt at = {.step = attempt, .token = token};
  if (!key.choices.empty()) {
    return key.choices[DrawBelow(static_cast<uint64_t>(seed), kSweepSetting, at, key.choices.size())];
  }
  return DrawNumber(key, DrawUniform(static_cast<uint64_t>(seed), kSweepSetting, at));
}

// Draws that equal an earlier one are skipped.
absl::StatusOr<std::vector<std::vector<Setting>>> DrawSettings(const SweepFile& file) {
  std::vector<std::vector<Setting>> draws;
  std::set<std::string> seen;
  const uint64_t attempts = 100 * static_cast<uint64_t>(file.draws) + 1000;
  for (uint64_t attempt = 0; attempt < attempts && static_cast<int64_t>(draws.size()) < file.draws; ++attempt) {
    std::vector<Setting> draw;
    std::string text;
    for (size_t i = 0; i < file.drawn.size(); ++i) {
      const DrawnKey& key = file.drawn[i];
      draw.push_back({key.key, DrawValue(key, file.draw_seed, attempt, i), key.place});
      absl::StrAppend(&text, OverrideText(draw.back()), "\n");
    }
    if (seen.insert(text).second) draws.push_back(std::move(draw));
  }
  if (static_cast<int64_t>(draws.size()) == file.draws) return draws;
  return config::ErrorAt(file.name, file.drawn_place,
                         absl::StrCat("only ", draws.size(),
                                      " different draws were found: lower count, or list all "
                                      "values in [grid]"));
}

// All combinations of the axes' values, the last axis fastest.
std::vector<std::vector<Setting>> Product(const std::vector<Axis>& axes) {
  std::vector<std::vector<Setting>> product = {{}};
  for (const Axis& axis : axes) {
    std::vector<std::vector<Setting>> longer;
    for (const std::vector<Setting>& settings : product) {
      for (const Value& value : axis.values) {
        longer.push_back(settings);
        longer.back().push_back({axis.key, value, axis.place});
      }
    }
    product = std::move(longer);
  }
  return product;
}

absl::Status CheckNumberOfTrials(const SweepFile& file) {
  double trials = 0;
  for (const Variant& variant : file.variants) {
    double of_variant = static_cast<double>(std::max<int64_t>(1, file.draws));
    for (const Axis& axis : file.axes) of_variant *= static_cast<double>(axis.values.size());
    for (const Axis& axis : variant.axes) of_variant *= static_cast<double>(axis.values.size());
    trials += of_variant;
  }
  if (trials <= static_cast<double>(kMostTrials)) return absl::OkStatus();
  return config::ErrorAt(file.name, {1, 1},
                         absl::StrFormat("the sweep has %.0f trials; the most are %d", trials, kMostTrials));
}

absl::StatusOr<std::vector<Combination>> Combine(const SweepFile& file) {
  RETURN_IF_ERROR(CheckNumberOfTrials(file));
  ASSIGN_OR_RETURN(std::vector<std::vector<Setting>> draws, DrawSettings(file));
  const size_t digits = absl::StrCat(std::max<size_t>(1, draws.size()) - 1).size();
  const bool has_draws = !draws.empty();
  if (!has_draws) draws.push_back({});
  std::vector<Combination> all;
  for (const Variant& variant : file.variants) {
    std::vector<Axis> axes = file.axes;
    axes.insert(axes.end(), variant.axes.begin(), variant.axes.end());
    const std::vector<std::vector<Setting>> grid = Product(axes);
    for (size_t d = 0; d < draws.size(); ++d) {
      const std::string draw = has_draws ? absl::StrFormat("draw%0*d", static_cast<int>(digits), d) : "";
      for (const std::vector<Setting>& settings : grid) all.push_back({&variant, draw, draws[d], settings});
    }
  }
  return all;
}

// The settings that the trial's variant, draw and grid give, in the order in which they apply.
std::vector<Setting> OwnSettings(const Combination& combination) {
  std::vector<Setting> settings = combination.variant->settings;
  settings.insert(settings.end(), combination.drawn.begin(), combination.drawn.end());
  settings.insert(settings.end(), combination.from_grid.begin(), combination.from_grid.end());
  return settings;
}

std::vector<std::string> ListAxes(const SweepFile& file) {
  std::vector<std::string> axes;
  const auto add = [&](const std::string& key) {
    if (std::find(axes.begin(), axes.end(), key) == axes.end()) axes.push_back(key);
  };
  for (const Variant& variant : file.variants) {
    for (const Setting& setting : variant.settings) add(setting.key);
  }
  for (const DrawnKey& drawn : file.drawn) add(drawn.key);
  for (const Axis& axis : file.axes) add(axis.key);
  for (const Variant& variant : file.variants) {
    for (const Axis& axis : variant.axes) add(axis.key);
  }
  return axes;
}

std::string WithoutSeed(const std::string& canonical) {
  std::vector<absl::string_view> lines = absl::StrSplit(canonical, '\n');
  std::erase_if(lines, [](absl::string_view line) { return absl::StartsWith(line, "run.seed "); });
  return absl::StrJoin(lines, "\n");
}

// As `train` checks a run that a user writes.
absl::Status CheckRun(const rl::ResolvedConfig& config) {
  RETURN_IF_ERROR(rl::CheckKeysAreRead(config.config));
  RETURN_IF_ERROR(rl::CheckRunIsLongEnough(config.config, config.origins).status());
  if (config.config.run.reduction == rl::Reduction::kExact) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "run.reduction is \"fast\", and such a run cannot be resumed or verified: use exact");
}

class Planner {
 public:
  Planner(const SweepFile& file, const KeyEdits& edits, int64_t ranks) : file_(file), edits_(edits), ranks_(ranks) {}

  absl::StatusOr<SweepPlan> Plan(absl::FunctionRef<void(int64_t, int64_t)> report);

 private:
  absl::Status CheckEdits() const;
  absl::Status AddTrial(const Combination& combination, size_t trials);
  void Name(const Combination& combination, const TrialFacts& facts, size_t trials, Trial* trial);
  void NoteDifferences(TrialFacts facts, const std::string& arm);
  Value ChooseValue(const std::string& axis, const Combination& combination, const Value& derived) const;
  std::string MakeEdit(const Setting& setting) const;
  std::string ArmLabel(const std::string& label, const std::string& identity);
  KeyEdits EditsWithout(const std::set<std::string>& unread, const Combination& combination) const;
  std::set<std::string> UnreadSettings(const Combination& combination);
  absl::StatusOr<rl::ResolvedConfig> ReadTrial(const Combination& combination);
  absl::Status CheckSettingsAreRead() const;
  absl::Status CheckFilesExist() const;
  absl::Status CheckMetric() const;

  const SweepFile& file_;
  const KeyEdits& edits_;
  const int64_t ranks_;
  SweepPlan plan_;
  std::vector<std::string> short_names_;               // by axis
  std::map<std::string, std::string> name_of_config_;  // by canonical text
  std::map<std::string, std::string> arm_of_identity_, identity_of_arm_;
  std::set<std::string> noted_arms_;
  std::map<std::string, TrialFacts> first_of_problem_;
  std::set<std::string> read_settings_;                // keys of [settings] that a trial reads
  std::map<std::string, std::string> unread_reasons_;  // why a trial does not
};

absl::Status Planner::CheckEdits() const {
  rl::Config scratch;
  config::FieldList fields;
  Visit(fields, scratch);
  config::Settings settings(fields);
  for (const std::string& argument : edits_.set) RETURN_IF_ERROR(settings.AddOverride(argument));
  for (const auto& [option, arguments] : {std::pair("--set", &edits_.set), {"--unset", &edits_.unset}}) {
    for (const std::string& argument : *arguments) {
      const std::string key(absl::StripAsciiWhitespace(argument.substr(0, argument.find('='))));
      if (std::find(plan_.axes.begin(), plan_.axes.end(), key) == plan_.axes.end()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(option, " ", argument, ": the sweep varies ", key, "; remove the option, or change the file"));
    }
  }
  return absl::OkStatus();
}

std::string Planner::ArmLabel(const std::string& label, const std::string& identity) {
  const auto known = arm_of_identity_.find(identity);
  if (known != arm_of_identity_.end()) return known->second;
  const std::string plain = label.empty() ? "all" : label;
  std::string arm = plain;
  for (int i = 2; identity_of_arm_.contains(arm); ++i) arm = absl::StrCat(plain, "-", i);
  identity_of_arm_[arm] = identity;
  arm_of_identity_[identity] = arm;
  return arm;
}

// A path in the sweep's file is relative to it.
std::string Planner::MakeEdit(const Setting& setting) const {
  if (rl::FindPathKey(setting.key) == nullptr) return OverrideText(setting);
  return OverrideText({setting.key, Value(rl::PathFrom(file_.directory, std::get<std::string>(setting.value)))});
}

// The trial's own settings, over the file's.
KeyEdits Planner::EditsWithout(const std::set<std::string>& unread, const Combination& combination) const {
  KeyEdits edits = {.unset = edits_.unset};
  for (const Setting& setting : file_.settings) {
    if (!unread.contains(setting.key)) edits.set.push_back(MakeEdit(setting));
  }
  for (const Setting& setting : OwnSettings(combination)) edits.set.push_back(MakeEdit(setting));
  edits.set.insert(edits.set.end(), edits_.set.begin(), edits_.set.end());
  return edits;
}

// The keys of [settings] that nothing in the trial reads: they are for others, such as those with an external process.
// Other mistakes are reported by the trial's own checks.
std::set<std::string> Planner::UnreadSettings(const Combination& combination) {
  std::set<std::string> unread;
  for (;;) {
    const absl::StatusOr<rl::ResolvedConfig> config =
        LoadConfiguration(combination.variant->config_path, EditsWithout(unread, combination), /*logger=*/nullptr);
    if (!config.ok()) return unread;
    const absl::StatusOr<std::vector<std::string>> keys = rl::UnreadKeys(config->config);
    if (!keys.ok() || keys->empty()) return unread;
    const std::string& key = keys->front();
    const bool is_set = std::any_of(file_.settings.begin(), file_.settings.end(),
                                    [&](const Setting& setting) { return setting.key == key; });
    if (!is_set || !unread.insert(key).second) return unread;
    unread_reasons_.emplace(key, rl::CheckKeysAreRead(config->config).message());
  }
}

absl::StatusOr<rl::ResolvedConfig> Planner::ReadTrial(const Combination& combination) {
  const auto read = [&](const std::set<std::string>& unread) {
    return ReadConfiguration(combination.variant->config_path, EditsWithout(unread, combination), ranks_,
                             /*logger=*/nullptr);
  };
  absl::StatusOr<rl::ResolvedConfig> config = read({});
  std::set<std::string> unread;
  if (!config.ok() || !rl::CheckKeysAreRead(config->config).ok()) {
    unread = UnreadSettings(combination);
    if (!unread.empty()) config = read(unread);
  }
  for (const Setting& setting : file_.settings) {
    if (!unread.contains(setting.key)) read_settings_.insert(setting.key);
  }
  return config;
}

absl::Status Planner::CheckSettingsAreRead() const {
  for (const Setting& setting : file_.settings) {
    if (read_settings_.contains(setting.key)) continue;
    const auto reason = unread_reasons_.find(setting.key);
    if (reason != unread_reasons_.end()) return config::ErrorAt(file_.name, setting.place, reason->second);
  }
  return absl::OkStatus();
}

// Returns the trial's value of an axis; of one that runs do not store, as it is written: the name of the file alone
// where only the configuration has it.
Value Planner::ChooseValue(const std::string& axis, const Combination& combination, const Value& derived) const {
  if (!IsWord(axis)) return derived;
  const std::vector<Setting> own = OwnSettings(combination);
  const auto written = std::find_if(own.rbegin(), own.rend(), [&](const Setting& each) { return each.key == axis; });
  if (written != own.rend()) return written->value;
  const std::string& path = std::get<std::string>(derived);
  return path.substr(path.rfind('/') + 1);
}

// Sets name, arm and settings, which follow from the configuration that the run stores, not from how the file puts it.
void Planner::Name(const Combination& combination, const TrialFacts& facts, size_t trials, Trial* trial) {
  config::FieldList fields;
  Visit(fields, trial->config.config);
  std::vector<Value> values;
  std::vector<bool> is_in_scope;
  for (size_t k = 0; k < plan_.axes.size(); ++k) {
    const config::Field& field = **config::FindByName(plan_.axes[k], fields);
    const bool is_word = IsWord(plan_.axes[k]);
    is_in_scope.push_back(field.IsInScope());
    values.push_back(ChooseValue(plan_.axes[k], combination, is_word ? field.Get() : facts.values[k]));
    trial->settings.push_back(!is_word ? facts.settings[k] : is_in_scope[k] ? config::Literal(values[k]) : "");
  }
  std::vector<LabelPart> parts;
  for (const Setting& setting : combination.from_grid) {
    const size_t k =
        static_cast<size_t>(std::find(plan_.axes.begin(), plan_.axes.end(), setting.key) - plan_.axes.begin());
    if (!is_in_scope[k]) continue;
    trial->varied.push_back(k);
    if (trial->settings[k].empty()) continue;
    parts.push_back({setting.key, short_names_[k], values[k]});
  }
  trial->named = combination.variant->name;
  trial->draw = combination.draw;
  const Labels labels = JoinLabels({trial->named, trial->draw}, parts);
  trial->name = TrialName(trial->index, static_cast<int64_t>(trials), labels.trial);
  trial->arm = ArmLabel(labels.arm, WithoutSeed(trial->config.canonical));
}

// Adds the keys in which the variant differs from the first one of its problem, and which the file does not vary.
void Planner::NoteDifferences(TrialFacts facts, const std::string& arm) {
  if (!noted_arms_.insert(arm).second) return;
  const auto [first, is_new] = first_of_problem_.emplace(facts.problem, facts);
  if (is_new) return;
  std::vector<std::string>& noted = plan_.also_differing;
  for (const std::string& key : DifferingKeys(first->second, facts)) {
    if (std::find(plan_.axes.begin(), plan_.axes.end(), key) != plan_.axes.end()) continue;
    const auto at = std::lower_bound(noted.begin(), noted.end(), key);
    if (at == noted.end() || *at != key) noted.insert(at, key);
  }
}

absl::Status Planner::AddTrial(const Combination& combination, size_t trials) {
  std::vector<LabelPart> written;  // for messages about a configuration that cannot be read
  for (const Setting& setting : combination.from_grid) {
    const auto axis = std::find(plan_.axes.begin(), plan_.axes.end(), setting.key);
    written.push_back({setting.key, short_names_[axis - plan_.axes.begin()], setting.value});
  }
  Trial trial = {.index = static_cast<int64_t>(plan_.trials.size()), .varied = {}};
  trial.name = TrialName(trial.index, static_cast<int64_t>(trials),
                         JoinLabels({combination.variant->name, combination.draw}, written).trial);
  const std::string place = absl::StrCat(file_.name, ": trial ", trial.name);
  absl::StatusOr<rl::ResolvedConfig> config = ReadTrial(combination);
  if (!config.ok()) return WithContext(config.status(), place);
  trial.config = *std::move(config);
  RETURN_IF_ERROR(WithContext(CheckRun(trial.config), place));
  const auto [twin, is_new] = name_of_config_.emplace(trial.config.canonical, trial.name);
  if (!is_new) {
    return config::ErrorAt(
        file_.name, combination.variant->place.line > 0 ? combination.variant->place : config::Place{1, 1},
        absl::StrCat("trials ", twin->second, " and ", trial.name, " have the same configuration: remove one"));
  }
  absl::StatusOr<TrialFacts> facts = ParseTrialFacts(StoredText(trial.config.config), {}, plan_.axes);
  if (!facts.ok()) return WithContext(facts.status(), place);
  Name(combination, *facts, trials, &trial);
  trial.base = static_cast<int64_t>(
      std::find_if(file_.variants.begin(), file_.variants.end(),
                   [&](const Variant& other) { return other.config_path == combination.variant->config_path; }) -
      file_.variants.begin());
  NoteDifferences(*std::move(facts), trial.arm);
  plan_.trials.push_back(std::move(trial));
  return absl::OkStatus();
}

absl::Status Planner::CheckFilesExist() const {
  for (const Variant& variant : file_.variants) {
    if (variant.config_path.empty()) continue;
    const absl::Status status = PosixFileSystem().Stat(variant.config_path).status();
    if (status.ok()) continue;
    return absl::Status(status.code(), config::ErrorAt(file_.name, variant.config_place, status.message()).message());
  }
  return absl::OkStatus();
}

// A misspelt metric would be noticed after the last trial.
absl::Status Planner::CheckMetric() const {
  if (file_.compare.metric.empty()) return absl::OkStatus();
  std::vector<const rl::Config*> configs;
  for (const Trial& trial : plan_.trials) configs.push_back(&trial.config.config);
  const absl::Status status = CheckScoreMetric(file_.compare.metric, configs);
  return status.ok() ? status : config::ErrorAt(file_.name, file_.metric_place, status.message());
}

absl::StatusOr<SweepPlan> Planner::Plan(absl::FunctionRef<void(int64_t, int64_t)> report) {
  plan_.compare = file_.compare;
  plan_.axes = ListAxes(file_);
  RETURN_IF_ERROR(CheckEdits());
  RETURN_IF_ERROR(CheckFilesExist());
  short_names_ = ShortNames(plan_.axes);
  ASSIGN_OR_RETURN(const std::vector<Combination> combinations, Combine(file_));
  for (const Combination& combination : combinations) {
    RETURN_IF_ERROR(AddTrial(combination, combinations.size()));
    report(static_cast<int64_t>(plan_.trials.size()), static_cast<int64_t>(combinations.size()));
  }
  RETURN_IF_ERROR(CheckSettingsAreRead());
  RETURN_IF_ERROR(CheckMetric());
  return std::move(plan_);
}

}  // namespace

absl::StatusOr<SweepPlan> PlanSweep(const std::string& path, const KeyEdits& edits, int64_t ranks,
                                    absl::FunctionRef<void(int64_t, int64_t)> report) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), path, kMostConfigurationBytes));
  ASSIGN_OR_RETURN(const SweepFile file, ParseSweep(text, path));
  return Planner(file, edits, ranks).Plan(report);
}

}  // namespace reprise
