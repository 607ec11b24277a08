// The check of untrusted tables (growth_record.h).

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "rl/record/stored_episode.h"
#include "rl/workloads/morphogenesis/growth_features.h"
#include "rl/workloads/morphogenesis/growth_record.h"
#include "rl/workloads/morphogenesis/growth_rows.h"

namespace reprise::rl {
namespace {

using internal::DecisionColumns;
using internal::DecisionRow;
using internal::EpisodeColumns;
using internal::EventColumns;
using internal::EventRow;
using internal::HostColumns;
using internal::NetworkColumns;
using internal::NetworkRow;

constexpr int64_t kMostCount = int64_t{1} << 40;  // of epochs or parameters

bool AreCounts(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t value) { return value >= 0 && value <= kMostCount; });
}

bool IsStage(models::Stage stage) { return static_cast<int>(stage) < models::kNumStages; }

struct EpisodeForm {
  int64_t prompt = 0, sample = 0;
  size_t rewards = 0;  // how many an episode has
};

absl::string_view FaultOfEpochs(const EpisodeRecord& episode, int64_t host_params, const EpisodeForm& form,
                                size_t epochs) {
  if (episode.sample != form.sample) return "it is not the next sample of its host";
  if (host_params < 1 || host_params > kMostCount) return "its host has no parameters";
  if (episode.logprobs.size() != epochs) return "it has not one log-probability for each of its epochs";
  return FaultOfEpisode(episode, epochs, form.rewards);
}

absl::string_view FaultOfNetwork(const NetworkRow& network, const GrowthRules& rules, int64_t epoch) {
  const GrowthReport& report = network.report;
  const SeedReport& seed = network.seed;
  if (network.epoch != epoch) return "it is not the next epoch of its episode";
  if (!IsStage(seed.stage) || !IsStage(seed.previous_stage)) return "its stage does not exist";
  if (seed.blueprint < 0 || seed.blueprint >= rules.actions.blueprints()) return "its blueprint does not exist";
  if (!AreCounts({report.embargo_epochs, report.fossil_params, seed.epochs_in_stage, seed.previous_epochs_in_stage,
                  seed.age, seed.params})) {
    return "a number of epochs or parameters is negative or too large";
  }
  if (!network.has_seed && !(seed == SeedReport{} && network.counterfactual.empty())) {
    return "it describes a seed, but has none";
  }
  if (network.counterfactual.size() > 1) return "it has more than one counterfactual";
  const int64_t features = NumGrowthFeatures(rules.actions.blueprints(), rules.has_telemetry);
  if (static_cast<int64_t>(network.feature_F.size()) != features) return "it has another number of features";
  const EpochMeasures& measures = report.measures;
  const bool sound = AreWithinBounds(network.feature_F) && AreWithinBounds(network.counterfactual) &&
                     AreWithinBounds(std::vector<double>{
                         measures.train_loss, measures.train_accuracy, measures.val_loss, measures.val_accuracy,
                         report.host_gradient_norm, seed.alpha, seed.stage_improvement, seed.total_improvement,
                         seed.germination_accuracy, seed.gradient_norm, seed.gradient_health});
  return sound ? "" : kOutOfBounds;
}

absl::string_view FaultOfDecision(const DecisionRow& decision, const GrowthRules& rules, int64_t epoch) {
  const std::vector<int32_t>& allowed = decision.allowed;
  if (decision.epoch != epoch) return "it is not the next decision of its episode";
  const bool ascends = std::adjacent_find(allowed.begin(), allowed.end(), std::greater_equal<>()) == allowed.end();
  if (allowed.empty() || !ascends || allowed.front() < 0 || allowed.back() >= rules.actions.size()) {
    return "its allowed actions are not some of the controller's in ascending order";
  }
  if (!std::binary_search(allowed.begin(), allowed.end(), decision.action)) return "its action is not allowed";
  return IsWithinBounds(decision.earned) && IsWithinBounds(decision.advantage) ? "" : kOutOfBounds;
}

absl::string_view FaultOfEvent(const EventRow& row, int64_t epochs) {
  const GrowthEvent& event = row.event;
  if (event.epoch < 0 || event.epoch > epochs) return "its epoch does not exist";
  if (static_cast<int>(event.kind) >= kNumGrowthEventKinds) return "its kind does not exist";
  if (row.severity != static_cast<uint8_t>(EventSeverity(event))) return "its severity is not that of its kind";
  if (!IsStage(event.from) || !IsStage(event.to)) return "its stage does not exist";
  if (event.gate > models::Gate::kG5) return "its gate does not exist";
  if (!AreCounts({event.params, event.epochs_total, event.epochs_in_stage})) {
    return "a number of epochs or parameters is negative or too large";
  }
  if (row.counterfactual.size() > 1) return "it has more than one counterfactual";
  const bool sound =
      IsWithinBounds(event.improvement) && IsWithinBounds(event.blending_delta) && AreWithinBounds(row.counterfactual);
  return sound ? "" : kOutOfBounds;
}

bool IsRowForEpisode(const RowReader& row, const EpisodeForm& form) {
  return IsRowForEpisode(row, form.prompt, form.sample);
}

struct Readers {
  RowReader hosts, episodes, networks, decisions, events;

  explicit Readers(const StepTables& step)
      : hosts(step.Find("hosts")),
        episodes(step.Find("episodes")),
        networks(step.Find("networks")),
        decisions(step.Find("decisions")),
        events(step.Find("events")) {}
};

// Checks an episode, and moves the readers behind it.
absl::Status CheckEpisode(const GrowthRules& rules, const EpisodeForm& form, Readers* readers) {
  const int64_t epochs = rules.task.max_epochs;
  EpisodeRecord episode;
  int64_t host_params = 0;
  EpisodeColumns(readers->episodes, episode, host_params);
  const absl::string_view fault = FaultOfEpochs(episode, host_params, form, static_cast<size_t>(epochs));
  if (!fault.empty()) return readers->episodes.Broken(fault);
  for (int64_t epoch = 1; epoch <= epochs + 1; ++epoch, readers->networks.Next()) {
    if (!IsRowForEpisode(readers->networks, form)) return readers->episodes.Broken("it lacks a report of its network");
    NetworkRow network;
    NetworkColumns(readers->networks, network);
    RETURN_IF_ERROR(readers->networks.status());
    const absl::string_view wrong = FaultOfNetwork(network, rules, epoch);
    if (!wrong.empty()) return readers->networks.Broken(wrong);
  }
  for (int64_t epoch = 1; epoch <= epochs; ++epoch, readers->decisions.Next()) {
    if (!IsRowForEpisode(readers->decisions, form)) return readers->episodes.Broken("it lacks a decision");
    DecisionRow decision;
    DecisionColumns(readers->decisions, decision);
    const absl::string_view wrong = FaultOfDecision(decision, rules, epoch);
    if (!wrong.empty()) return readers->decisions.Broken(wrong);
  }
  for (; IsRowForEpisode(readers->events, form); readers->events.Next()) {
    EventRow event;
    EventColumns(readers->events, event);
    const absl::string_view wrong = FaultOfEvent(event, epochs);
    if (!wrong.empty()) return readers->events.Broken(wrong);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckGrowthTables(const Config& config, const GrowthRules& rules, const StepTables& step) {
  const bool is_sft = step.phase == Phase::kSft;
  const int64_t prompts = is_sft ? config.sft.prompts_per_step : config.rollout.prompts_per_step;
  const int64_t samples = is_sft ? 1 : config.rollout.num_generations;
  Readers readers(step);
  for (int64_t prompt = 0; readers.hosts.has_row(); ++prompt, readers.hosts.Next()) {
    if (readers.hosts.Peek<int64_t>(0) != prompt || prompt >= prompts) {
      return readers.hosts.Broken("it is not the next prompt");
    }
    for (int64_t sample = 0; sample < samples; ++sample, readers.episodes.Next()) {
      if (!readers.episodes.has_row() || readers.episodes.Peek<int64_t>(0) != prompt) {
        return readers.hosts.Broken("it lacks an episode");
      }
      RETURN_IF_ERROR(CheckEpisode(rules, {prompt, sample, is_sft ? size_t{0} : size_t{1}}, &readers));
    }
  }
  if (readers.episodes.has_row()) return readers.episodes.Broken("it belongs to no host");
  if (readers.networks.has_row()) return readers.networks.Broken("it belongs to no episode");
  if (readers.decisions.has_row()) return readers.decisions.Broken("it belongs to no episode");
  return readers.events.has_row() ? readers.events.Broken("it belongs to no episode") : absl::OkStatus();
}

}  // namespace reprise::rl
