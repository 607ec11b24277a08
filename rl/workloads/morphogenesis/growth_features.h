#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_FEATURES_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_FEATURES_H_

// What a controller sees of a growing network: numbers of about unit size.
//
//    0 epoch / max_epochs      1 step / max_steps        2 train loss / 10         3 validation loss / 10
//    4 loss delta / 5          5 train accuracy / 100    6 validation acc. / 100   7 accuracy delta / 50
//    8 plateau / 20            9 best accuracy / 100    10 best loss / 10      11-15 last five losses / 10
// 16-20 last five acc. / 100  21 has a seed             22 stage / 7              23 epochs in stage / 50
//   24 alpha                  25 stage improvement / 10 26 free slots             27 counterfactual / 10
//   28 host gradient / 10     29 epoch / max_epochs     30 on: one of each blueprint, in the order of actions
//
// then, with telemetry, 10 numbers about the seed (0 without one):
//
//    gradient norm / 10, health, vanishing, exploding, epochs in stage / 50, accuracy / 100, accuracy delta / 10,
//    (stage - 1) / 6, alpha, epoch / max_epochs
//
// Departs from esper-lite: epochs are a share of max_epochs (there, feature 0 is epoch / 200), and blueprints are those
// of the registry in the order of actions (there, a fixed list in another order, which lacks those of transformers).

#include <cstdint>
#include <optional>
#include <vector>

#include "rl/workloads/morphogenesis/growth_report.h"

namespace reprise::rl {

inline constexpr int64_t kGrowthFeatures = 30, kTelemetryFeatures = 10;

// 35 with the five blueprints of a topology, 45 with telemetry.
inline int64_t NumGrowthFeatures(int64_t blueprints, bool has_telemetry) {
  return kGrowthFeatures + blueprints + (has_telemetry ? kTelemetryFeatures : 0);
}

// Returns `otherwise` where the value is missing or not finite, else the value, at most `most` in magnitude.
double Safe(std::optional<double> value, double otherwise, double most = 100);

// Pure.
std::vector<float> GrowthFeatures(const GrowthScale& scale, int64_t blueprints, bool has_telemetry,
                                  const TrainingSignals& signals, const GrowthReport& report);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_FEATURES_H_
