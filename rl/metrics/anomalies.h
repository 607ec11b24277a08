#ifndef RL_METRICS_ANOMALIES_H_
#define RL_METRICS_ANOMALIES_H_

// Signs in a step's metrics that training goes wrong although every number is finite.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "rl/record/record_schema.h"

namespace reprise::rl {

enum class AnomalyKind {
  kRatioExplosion,     // a probability ratio above 5
  kRatioCollapse,      // a probability ratio below 0.1
  kValueCollapse,      // the values predict less than 0.1 of the returns' variance
  kAdvantageCollapse,  // advantages have a standard deviation below 0.1, by which they are divided
};

struct Anomaly {
  AnomalyKind kind = AnomalyKind::kRatioExplosion;
  double value = 0;  // of the metric that shows it

  bool operator==(const Anomaly&) const = default;
};

// "RATIO_EXPLOSION_DETECTED", "RATIO_COLLAPSE_DETECTED", "VALUE_COLLAPSE_DETECTED", "ADVANTAGE_COLLAPSE_DETECTED".
absl::string_view AnomalyName(AnomalyKind kind);

// Returns one sentence for people, with the value and what may help.
std::string Describe(const Anomaly& anomaly);

// Returns the anomalies that the metrics of a training step show, in the order of the kinds. Ratios and advantages are
// among the metrics with algorithm.diagnostics. Pure.
std::vector<Anomaly> FindAnomalies(const Metrics& metrics);

}  // namespace reprise::rl

#endif  // RL_METRICS_ANOMALIES_H_
