#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_ROWS_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_ROWS_H_

// The rows of a step of growing networks, and which column holds which field. Private to the record and its check.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rl/record/episode_record.h"
#include "rl/record/record_schema.h"
#include "rl/record/table_row.h"
#include "rl/workloads/morphogenesis/growth_events.h"
#include "rl/workloads/morphogenesis/growth_report.h"

namespace reprise::rl::internal {

// In the order of growth_record.h.
enum GrowthStream { kHosts, kEpisodes, kNetworks, kDecisions, kEvents };
std::vector<StreamSchema> GrowthStreams();

// An optional number is a column of none or one value.
inline std::vector<double> ToColumn(const std::optional<double>& value) {
  return value ? std::vector<double>{*value} : std::vector<double>();
}
inline std::optional<double> FromColumn(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional<double>(values[0]);
}

struct NetworkRow {
  int64_t prompt = 0, sample = 0, epoch = 0;
  GrowthReport report = {};
  bool has_seed = false;
  SeedReport seed = {};
  std::vector<double> counterfactual = {};
  std::vector<float> feature_F = {};
};

struct DecisionRow {
  int64_t prompt = 0, sample = 0, epoch = 0;
  int32_t action = 0;
  std::vector<int32_t> allowed = {};  // ascending
  double earned = 0, advantage = 0;
};

struct EventRow {
  int64_t prompt = 0, sample = 0;
  uint8_t severity = 0;
  GrowthEvent event = {};
  std::vector<double> counterfactual = {};
};

void HostColumns(auto&& row, auto& prompt, auto& host_seed) { row.Columns(prompt, host_seed); }

void EpisodeColumns(auto&& row, auto& episode, auto& host_params) {
  row.Columns(episode.prompt, episode.sample, host_params, episode.logprobs, episode.ref_logprobs, episode.rewards_F,
              episode.reward, episode.advantage);
}

void NetworkColumns(auto&& row, auto& network) {
  auto& report = network.report;
  auto& seed = network.seed;
  row.Columns(network.prompt, network.sample, network.epoch, report.measures.train_loss, report.measures.train_accuracy,
              report.measures.val_loss, report.measures.val_accuracy, report.host_gradient_norm, report.was_rolled_back,
              report.embargo_epochs, report.fossil_params);
  row.Columns(network.has_seed, seed.stage, seed.previous_stage, seed.blueprint, seed.epochs_in_stage,
              seed.previous_epochs_in_stage, seed.age, seed.params, seed.alpha, seed.stage_improvement,
              seed.total_improvement, seed.germination_accuracy, network.counterfactual, seed.gradient_norm,
              seed.gradient_health, seed.is_vanishing, seed.is_exploding, network.feature_F);
}

void DecisionColumns(auto&& row, auto& decision) {
  row.Columns(decision.prompt, decision.sample, decision.epoch, decision.action, decision.allowed, decision.earned,
              decision.advantage);
}

void EventColumns(auto&& row, auto& of) {
  auto& event = of.event;
  row.Columns(of.prompt, of.sample, event.epoch, event.kind, of.severity, event.seed_id, event.slot_id,
              event.blueprint_id, event.from, event.to, event.gate, event.params, event.improvement,
              event.blending_delta, of.counterfactual, event.epochs_total, event.epochs_in_stage, event.reason);
}

}  // namespace reprise::rl::internal

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_ROWS_H_
