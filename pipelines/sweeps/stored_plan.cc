#include "pipelines/sweeps/stored_plan.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/config/unknown_name.h"
#include "core/digest/sha256.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "rl/config/load.h"
#include "rl/run/path_keys.h"

namespace reprise {
namespace {

constexpr int64_t kMostWhole = std::numeric_limits<int64_t>::max();

bool IsFolderName(absl::string_view name) {
  const auto is_allowed = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 200 && name[0] != '.' && std::all_of(name.begin(), name.end(), is_allowed);
}

absl::StatusOr<std::string> TextOf(const JsonValue& object, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, object.Get(key));
  ASSIGN_OR_RETURN(const absl::string_view text, value.String());
  return std::string(text);
}

absl::StatusOr<std::vector<std::string>> TextsOf(const JsonValue& object, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, object.Get(key));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, value.Elements());
  std::vector<std::string> texts;
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const absl::string_view text, element.String());
    texts.emplace_back(text);
  }
  return texts;
}

absl::StatusOr<CompareOptions> ParseCompare(const JsonValue& object) {
  CompareOptions options;
  ASSIGN_OR_RETURN(options.metric, TextOf(object, "metric"));
  ASSIGN_OR_RETURN(const std::string summary, TextOf(object, "summary"));
  ASSIGN_OR_RETURN(options.summary, ParseName<Summary>("summary", summary, kSummaryNames));
  ASSIGN_OR_RETURN(const JsonValue greater, object.Get("greater_is_better"));
  ASSIGN_OR_RETURN(options.greater_is_better, greater.Bool());
  ASSIGN_OR_RETURN(const JsonValue confidence, object.Get("confidence"));
  ASSIGN_OR_RETURN(options.confidence, confidence.Number());
  ASSIGN_OR_RETURN(const JsonValue resamples, object.Get("resamples"));
  ASSIGN_OR_RETURN(options.resamples, resamples.Integer(100, 100'000));
  if (!(options.confidence >= 0.5 && options.confidence <= 0.999)) return confidence.Error("is out of range");
  return options;
}

absl::StatusOr<PlannedTrial> ParseTrial(const JsonValue& object, size_t axes) {
  PlannedTrial trial;
  ASSIGN_OR_RETURN(trial.name, TextOf(object, "name"));
  ASSIGN_OR_RETURN(const JsonValue base, object.Get("base"));
  ASSIGN_OR_RETURN(trial.base, base.Integer(0, kMostWhole));
  ASSIGN_OR_RETURN(trial.arm, TextOf(object, "variant"));
  ASSIGN_OR_RETURN(trial.problem, TextOf(object, "problem"));
  ASSIGN_OR_RETURN(trial.config_sha256, TextOf(object, "config_sha256"));
  ASSIGN_OR_RETURN(const JsonValue seed, object.Get("seed"));
  ASSIGN_OR_RETURN(trial.seed, seed.Integer(0, kMostWhole));
  ASSIGN_OR_RETURN(trial.settings, TextsOf(object, "settings"));
  if (trial.settings.size() != axes) return object.Error("its settings are not those of the plan's axes");
  if (!IsFolderName(trial.name)) return object.Error("its name is not that of a trial");
  return trial;
}

absl::StatusOr<StoredPlan> Parse(absl::string_view text) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  const JsonValue root = document.root();
  StoredPlan plan;
  ASSIGN_OR_RETURN(plan.axes, TextsOf(root, "axes"));
  ASSIGN_OR_RETURN(const JsonValue compare, root.Get("compare"));
  ASSIGN_OR_RETURN(plan.compare, ParseCompare(compare));
  ASSIGN_OR_RETURN(const JsonValue trials, root.Get("trials"));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, trials.Elements());
  std::set<std::string> names;
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(PlannedTrial trial, ParseTrial(element, plan.axes.size()));
    if (!names.insert(trial.name).second) return element.Error("its name is that of another trial");
    plan.trials.push_back(std::move(trial));
  }
  return plan;
}

}  // namespace

StoredPlan StoredPlanOf(const SweepPlan& plan) {
  StoredPlan stored = {.axes = plan.axes, .compare = plan.compare, .trials = {}};
  for (const Trial& trial : plan.trials) {
    stored.trials.push_back({.name = trial.name,
                             .arm = trial.arm,
                             .problem = trial.problem,
                             .config_sha256 = ToHex(Sha256(rl::CanonicalConfig(rl::WithoutPaths(trial.config.config)))),
                             .base = trial.base,
                             .seed = trial.config.config.run.seed,
                             .settings = trial.settings});
  }
  return stored;
}

std::string PlanText(const StoredPlan& plan) {
  const nlohmann::ordered_json compare = {{"metric", plan.compare.metric},
                                          {"summary", kSummaryNames[static_cast<size_t>(plan.compare.summary)]},
                                          {"greater_is_better", plan.compare.greater_is_better},
                                          {"confidence", plan.compare.confidence},
                                          {"resamples", plan.compare.resamples}};
  std::string text = absl::StrCat("{\"axes\": ", nlohmann::ordered_json(plan.axes).dump(),
                                  ",\n \"compare\": ", compare.dump(), ",\n \"trials\": [");
  for (size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial& trial = plan.trials[i];
    const nlohmann::ordered_json line = {{"name", trial.name},
                                         {"variant", trial.arm},
                                         {"base", trial.base},
                                         {"seed", trial.seed},
                                         {"settings", trial.settings},
                                         {"problem", trial.problem},
                                         {"config_sha256", trial.config_sha256}};
    absl::StrAppend(&text, i == 0 ? "\n  " : ",\n  ",
                    line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
  return text + "\n ]}\n";
}

absl::StatusOr<StoredPlan> ParsePlan(absl::string_view text) {
  absl::StatusOr<StoredPlan> plan = Parse(text);
  if (!plan.ok()) return absl::DataLossError(absl::StrCat("the plan is damaged: ", plan.status().message()));
  return plan;
}

}  // namespace reprise
