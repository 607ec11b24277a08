#include "pipelines/sweeps/plan_check.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/config/toml_reader.h"
#include "core/status/check.h"
#include "pipelines/sweeps/trials/trial_name.h"
#include "rl/run/path_keys.h"

namespace reprise {
namespace {

// Of a trial that is done: what its run decides.
std::string RunDifference(const std::vector<std::string>& axes, const PlannedTrial& trial, const TrialFacts& facts) {
  for (size_t k = 0; k < axes.size(); ++k) {
    if (IsSetting(axes[k], trial.settings[k], facts.settings[k])) continue;
    return absl::StrCat("the plan's ", axes[k], " is ", trial.settings[k], ", its run has ", facts.settings[k]);
  }
  if (trial.seed != facts.seed) return absl::StrCat("the plan's seed is ", trial.seed, ", its run has ", facts.seed);
  return trial.problem == facts.problem ? "" : "its run has another problem than the plan";
}

// The value of a setting, without the digest of a path's files.
std::optional<config::Value> ParseSettingValue(const std::string& setting) {
  const auto value = config::ReadTomlValue(setting.substr(0, setting.find("\" sha256:") + 1));
  const auto whole = config::ReadTomlValue(setting);
  for (const auto* const read : {&whole, &value}) {
    if (read->ok() && std::holds_alternative<config::Value>(**read)) return std::get<config::Value>(**read);
  }
  return std::nullopt;
}

std::optional<Labels> LabelsOfTrial(const StoredPlan& plan, const std::vector<std::string>& short_names,
                                    const PlannedTrial& trial) {
  std::vector<LabelPart> parts;
  for (const size_t k : trial.varied) {
    if (trial.settings[k].empty()) continue;  // the trial does not read it
    std::optional<config::Value> value = ParseSettingValue(trial.settings[k]);
    if (!value) return std::nullopt;
    parts.push_back({plan.axes[k], short_names[k], *std::move(value)});
  }
  return JoinLabels({trial.named, trial.draw}, parts);
}

// Whether the arm is the label, or the label and a number ("all-2"), which a second variant with the same label gets.
bool IsArm(const std::string& arm, const std::string& label) {
  absl::string_view number = arm;
  const std::string plain = label.empty() ? "all" : label;
  if (arm == plain) return true;
  int n = 0;
  return absl::ConsumePrefix(&number, plain) && absl::ConsumePrefix(&number, "-") && absl::SimpleAtoi(number, &n) &&
         n >= 2;
}

std::string NameDifference(const StoredPlan& plan) {
  const std::vector<std::string> short_names = ShortNames(plan.axes);
  for (size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial& trial = plan.trials[i];
    const std::optional<Labels> labels = LabelsOfTrial(plan, short_names, trial);
    if (!labels) return absl::StrCat("trial ", trial.name, ": a setting of the plan is no value");
    const std::string name =
        TrialName(static_cast<int64_t>(i), static_cast<int64_t>(plan.trials.size()), labels->trial);
    if (trial.name != name) return absl::StrCat("trial ", i, " of the plan has the name ", trial.name, ", not ", name);
    if (IsArm(trial.arm, labels->arm)) continue;
    return absl::StrCat("trial ", trial.name, ": the plan's variant is ", trial.arm, ", not ", labels->arm);
  }
  return "";
}

// What tells the trial's variant from others beside what its run stores: its label, which may be cut, and its paths,
// two of which may lead to equal files.
std::string WrittenOfArm(const StoredPlan& plan, const std::string& label, const PlannedTrial& trial) {
  std::string written = label;
  for (size_t k = 0; k < plan.axes.size(); ++k) {
    if (rl::FindPathKey(plan.axes[k]) != nullptr) absl::StrAppend(&written, "\n", trial.settings[k]);
  }
  return written;
}

// Trials of one variant differ in run.seed alone, and those of different ones otherwise.
std::string ArmDifference(const StoredPlan& plan, const std::vector<TrialOutcome>& outcomes) {
  std::map<std::string, const std::string*> identity_of_arm;
  std::map<std::pair<std::string, std::string>, const std::string*> arm_of;  // by what is written and identity
  const std::vector<std::string> short_names = ShortNames(plan.axes);
  for (size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial& trial = plan.trials[i];
    if (outcomes[i].status != TrialStatus::kDone) continue;
    const std::string& identity = outcomes[i].facts.identity;
    const std::string label = LabelsOfTrial(plan, short_names, trial).value_or(Labels()).arm;
    const auto known = identity_of_arm.emplace(trial.arm, &identity).first;
    const auto same = arm_of.emplace(std::pair(WrittenOfArm(plan, label, trial), identity), &trial.arm).first;
    if (*known->second == identity && *same->second == trial.arm) continue;
    return absl::StrCat("trial ", trial.name, ": its run is ", *known->second == identity ? "" : "not ",
                        "of the variant ", *known->second == identity ? *same->second : trial.arm,
                        " like an earlier trial's");
  }
  return "";
}

// One variant and draw of the sweep's file: `count` trials from `first` on.
struct Group {
  size_t first = 0, count = 0;
};

// The values of a key in a group, by their first trials. Where a key is not read because of another one ("") it has the
// one value that it has elsewhere.
std::map<std::string, size_t> PlacesOfValues(const StoredPlan& plan, const Group& group, size_t key) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < group.count; ++i) {
    const std::string& setting = plan.trials[group.first + i].settings[key];
    if (!setting.empty()) places.emplace(setting, places.size());
  }
  return places;
}

// Whether the trials are all combinations of the values, the last key fastest.
bool IsProduct(const StoredPlan& plan, const Group& group) {
  const PlannedTrial& head = plan.trials[group.first];
  std::vector<std::map<std::string, size_t>> places;  // by key
  size_t combinations = 1;
  for (const size_t k : head.varied) {
    places.push_back(PlacesOfValues(plan, group, k));
    combinations *= std::max<size_t>(1, places.back().size());
    if (combinations > group.count) return false;
  }
  if (combinations != group.count) return false;
  for (size_t i = 0; i < group.count; ++i) {
    const PlannedTrial& trial = plan.trials[group.first + i];
    if (trial.varied != head.varied) return false;
    size_t rest = i;
    for (size_t axis = head.varied.size(); axis-- > 0;) {
      const std::string& setting = trial.settings[head.varied[axis]];
      const size_t values = std::max<size_t>(1, places[axis].size());
      if (setting.empty() ? values > 1 : places[axis].at(setting) != rest % values) return false;
      rest /= values;
    }
  }
  return true;
}

std::string GroupDifference(const StoredPlan& plan) {
  std::map<std::string, int64_t> base_of_variant;
  std::map<std::string, Group> last_of_variant;
  std::map<std::string, size_t> draws_of_variant;
  for (Group group; group.first < plan.trials.size(); group.first += group.count) {
    const PlannedTrial& head = plan.trials[group.first];
    const auto is_of_group = [&](const PlannedTrial& trial) {
      return trial.named == head.named && trial.draw == head.draw;
    };
    const auto begin = plan.trials.begin() + static_cast<int64_t>(group.first);
    group.count = static_cast<size_t>(std::find_if_not(begin, plan.trials.end(), is_of_group) - begin);
    for (size_t i = 0; i < group.count; ++i) {
      const PlannedTrial& trial = plan.trials[group.first + i];
      const int64_t base = base_of_variant.emplace(trial.named, trial.base).first->second;
      if (trial.base == base && (!trial.named.empty() || base == 0)) continue;
      return absl::StrCat("trial ", trial.name, ": the plan begins it with another configuration than its variant");
    }
    const Group last = last_of_variant.emplace(head.named, group).first->second;
    const size_t draw = draws_of_variant[head.named]++;
    int number = -1;
    const bool is_next = head.draw.empty() ? draw == 0
                                           : absl::SimpleAtoi(absl::StripPrefix(head.draw, "draw"), &number) &&
                                                 number == static_cast<int>(draw);
    if (is_next && last.count == group.count && IsProduct(plan, group)) continue;
    return absl::StrCat("trial ", head.name, ": it and those that follow are not all combinations of what varies");
  }
  return "";
}

}  // namespace

std::string PlanDifference(const StoredPlan& plan, const std::vector<TrialOutcome>& outcomes) {
  CHECK(outcomes.size() == plan.trials.size());
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].status != TrialStatus::kDone) continue;
    const std::string difference = RunDifference(plan.axes, plan.trials[i], outcomes[i].facts);
    if (!difference.empty()) return absl::StrCat("trial ", plan.trials[i].name, ": ", difference);
  }
  for (const std::string& difference : {NameDifference(plan), ArmDifference(plan, outcomes), GroupDifference(plan)}) {
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace reprise
