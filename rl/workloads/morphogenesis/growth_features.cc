#include "rl/workloads/morphogenesis/growth_features.h"

#include <algorithm>
#include <cmath>

#include "core/status/check.h"

namespace reprise::rl {
namespace {

constexpr double kBadLoss = 10, kSmallest = 1e-30;  // smaller features are 0: no float is subnormal

double Loss(double loss) { return Safe(loss, kBadLoss) / 10; }
double Percent(double accuracy) { return Safe(accuracy, 0) / 100; }
double Share(int64_t part, int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

// Appends the last kHistory values, with zeros in front where there are fewer.
template <typename Scale>
void AppendHistory(const std::vector<double>& history, const Scale& scaled, std::vector<double>* features) {
  features->insert(features->end(), TrainingSignals::kHistory - history.size(), 0.0);
  for (const double value : history) features->push_back(scaled(value));
}

void AppendTelemetry(const GrowthScale& scale, const TrainingSignals& signals, const SeedReport& seed,
                     std::vector<double>* features) {
  const double stage = static_cast<double>(seed.stage);
  features->insert(
      features->end(),
      {std::min(Safe(seed.gradient_norm, 10), 10.0) / 10, Safe(seed.gradient_health, 0), seed.is_vanishing ? 1.0 : 0.0,
       seed.is_exploding ? 1.0 : 0.0, static_cast<double>(std::min<int64_t>(seed.epochs_in_stage, 50)) / 50,
       Percent(signals.measures.val_accuracy), std::clamp(Safe(signals.accuracy_delta, 0) / 10, -1.0, 1.0),
       std::min((stage - 1) / 6, 1.0), seed.alpha, Share(signals.epoch, scale.max_epochs)});
}

}  // namespace

double Safe(std::optional<double> value, double otherwise, double most) {
  return value && std::isfinite(*value) ? std::clamp(*value, -most, most) : otherwise;
}

std::vector<float> GrowthFeatures(const GrowthScale& scale, int64_t blueprints, bool has_telemetry,
                                  const TrainingSignals& signals, const GrowthReport& report) {
  const EpochMeasures& measures = signals.measures;
  const double epochs = Share(signals.epoch, scale.max_epochs);
  std::vector<double> features = {epochs,
                                  Share(signals.epoch * scale.batches_per_epoch, scale.max_steps),
                                  Loss(measures.train_loss),
                                  Loss(measures.val_loss),
                                  Safe(signals.loss_delta, 0, 5) / 5,
                                  Percent(measures.train_accuracy),
                                  Percent(measures.val_accuracy),
                                  Safe(signals.accuracy_delta, 0, 50) / 50,
                                  static_cast<double>(signals.plateau_epochs) / 20,
                                  Percent(signals.best_val_accuracy),
                                  Loss(signals.best_val_loss)};
  AppendHistory(signals.losses_H, Loss, &features);
  AppendHistory(signals.accuracies_H, Percent, &features);
  const std::optional<SeedReport>& seed = report.seed;
  features.insert(
      features.end(),
      {seed ? 1.0 : 0.0, seed ? static_cast<double>(seed->stage) / 7 : 0.0,
       seed ? static_cast<double>(seed->epochs_in_stage) / 50 : 0.0, seed ? seed->alpha : 0.0,
       seed ? Safe(seed->stage_improvement, 0, 10) / 10 : 0.0, seed || report.embargo_epochs > 0 ? 0.0 : 1.0,
       seed ? Safe(seed->counterfactual, 0, 10) / 10 : 0.0, Safe(report.host_gradient_norm, 10, 10) / 10, epochs});
  for (int64_t blueprint = 0; blueprint < blueprints; ++blueprint) {
    features.push_back(seed && seed->blueprint == blueprint ? 1.0 : 0.0);
  }
  if (has_telemetry && seed) AppendTelemetry(scale, signals, *seed, &features);
  features.resize(static_cast<size_t>(NumGrowthFeatures(blueprints, has_telemetry)), 0.0);
  std::vector<float> feature_F;
  for (const double feature : features)
    feature_F.push_back(std::abs(feature) < kSmallest ? 0 : static_cast<float>(feature));
  return feature_F;
}

}  // namespace reprise::rl
