#include "rl/metrics/anomalies.h"

#include "absl/strings/str_cat.h"

namespace reprise::rl {
namespace {

struct Rule {
  AnomalyKind kind;
  absl::string_view name, metric;
  bool is_above;  // whether values above the bound are anomalous, otherwise those below it
  double bound;
  absl::string_view meaning, remedy;
};

constexpr Rule kRules[] = {
    {AnomalyKind::kRatioExplosion, "RATIO_EXPLOSION_DETECTED", "ratio/max", true, 5.0,
     "an action has become far more probable than it was when it was drawn",
     "choose a lower optimizer.learning_rate, fewer iterations or a target_kl"},
    {AnomalyKind::kRatioCollapse, "RATIO_COLLAPSE_DETECTED", "ratio/min", false, 0.1,
     "an action has become far less probable than it was when it was drawn",
     "choose a lower optimizer.learning_rate, fewer iterations or a target_kl"},
    {AnomalyKind::kValueCollapse, "VALUE_COLLAPSE_DETECTED", "critic/vf_explained_var", false, 0.1,
     "the values hardly predict the returns", "wait if training has just begun, otherwise raise algorithm.vf_coef"},
    {AnomalyKind::kAdvantageCollapse, "ADVANTAGE_COLLAPSE_DETECTED", "critic/advantages/std", false, 0.1,
     "the advantages hardly differ, so that whitening enlarges their noise",
     "look for rewards that do not depend on the actions"},
};

const Rule& FindRule(AnomalyKind kind) { return kRules[static_cast<size_t>(kind)]; }

}  // namespace

absl::string_view AnomalyName(AnomalyKind kind) { return FindRule(kind).name; }

std::string Describe(const Anomaly& anomaly) {
  const Rule& rule = FindRule(anomaly.kind);
  return absl::StrCat(rule.metric, " is ", anomaly.value, rule.is_above ? ", above " : ", below ", rule.bound, ": ",
                      rule.meaning, "; ", rule.remedy);
}

std::vector<Anomaly> FindAnomalies(const Metrics& metrics) {
  std::vector<Anomaly> anomalies;
  for (const Rule& rule : kRules) {
    for (const auto& [name, value] : metrics) {
      if (name != rule.metric) continue;
      if (rule.is_above ? value > rule.bound : value < rule.bound) anomalies.push_back({rule.kind, value});
    }
  }
  return anomalies;
}

}  // namespace reprise::rl
