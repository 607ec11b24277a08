#include "pipelines/sweeps/score_metric.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/config/nearest.h"
#include "rl/algorithm/metric_definitions.h"
#include "rl/config/evaluation_check.h"
#include "rl/config/evaluation_section.h"

namespace reprise {
namespace {

constexpr absl::string_view kBestNames[] = {"eval_best", "eval_best_step", "eval_no_improvement"};

// Whether the name is of the definition, whose part in braces, if there is one, stands for any text.
bool MatchesDefinition(absl::string_view name, absl::string_view definition) {
  const size_t open = definition.find('{');
  if (open == definition.npos) return name == definition;
  const absl::string_view before = definition.substr(0, open), after = definition.substr(definition.find('}') + 1);
  return name.size() > before.size() + after.size() && absl::StartsWith(name, before) && absl::EndsWith(name, after);
}

// The workload that the metric needs; "" if it needs none, or something else beside it.
absl::string_view RequiredWorkload(const rl::MetricDefinition& metric) {
  absl::string_view when = metric.when;
  const bool is_workload = absl::ConsumePrefix(&when, "run.workload ") && when.find_first_of(" ,") == when.npos;
  return is_workload ? when : "";
}

bool TrainingHas(absl::string_view name, const rl::Config& config) {
  for (const rl::MetricDefinition& metric : rl::MetricDefinitions()) {
    const absl::string_view workload = RequiredWorkload(metric);
    if (MatchesDefinition(name, metric.name) && (workload.empty() || workload == config.run.workload)) return true;
  }
  return false;
}

bool EvaluationHas(absl::string_view name, const rl::Config& config) {
  if (config.evaluation.every == 0) return false;
  if (std::find(std::begin(kBestNames), std::end(kBestNames), name) != std::end(kBestNames)) {
    return rl::TracksBest(config.evaluation);
  }
  if (absl::StartsWith(name, "eval_anti_theater_")) return config.quiet_star.anti_theater;
  std::string metric(name);
  if (config.evaluation.on_start && absl::ConsumePrefix(&name, "eval_start_")) metric = absl::StrCat("eval_", name);
  const std::vector<std::string> names = rl::EvaluationMetricNames(config);
  return std::any_of(names.begin(), names.end(), [&](const std::string& each) {
    return metric == each || metric == each + "_low" || metric == each + "_high";
  });
}

// The name's definition is of another workload, or of evaluations.
std::string WhatIsMissing(absl::string_view name, const std::vector<const rl::Config*>& configs) {
  for (const rl::MetricDefinition& metric : rl::MetricDefinitions()) {
    if (MatchesDefinition(name, metric.name)) return absl::StrCat("it needs ", metric.when);
  }
  const bool evaluates = std::any_of(configs.begin(), configs.end(),
                                     [](const rl::Config* config) { return config->evaluation.every > 0; });
  return absl::StartsWith(name, "eval_") && !evaluates ? "none makes evaluations; set evaluation.every" : "";
}

std::string Question(absl::string_view name, const std::vector<const rl::Config*>& configs) {
  std::set<std::string> known;
  for (const rl::MetricDefinition& metric : rl::MetricDefinitions()) known.insert(std::string(metric.name));
  for (const rl::Config* const config : configs) {
    if (config->evaluation.every == 0) continue;
    for (std::string& each : rl::EvaluationMetricNames(*config)) known.insert(std::move(each));
  }
  const std::optional<std::string> nearest =
      config::Nearest(name, std::vector<std::string>(known.begin(), known.end()));
  return nearest ? absl::StrCat("; did you mean \"", *nearest, "\"?") : ";";
}

}  // namespace

absl::Status CheckScoreMetric(absl::string_view name, const std::vector<const rl::Config*>& configs) {
  const bool is_had = std::any_of(configs.begin(), configs.end(), [&](const rl::Config* config) {
    return name == rl::kRewardMovingAverage || TrainingHas(name, *config) || EvaluationHas(name, *config);
  });
  if (is_had) return absl::OkStatus();
  const std::string missing = WhatIsMissing(name, configs);
  if (!missing.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no trial has the metric \"", name, "\": ", missing));
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown metric \"", name, "\"", Question(name, configs),
                                                 " docs/algorithms.md and docs/evaluation.md list all"));
}

}  // namespace reprise
