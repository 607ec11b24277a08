#include "rl/workloads/morphogenesis/growth_record.h"

#include <any>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/random/draw.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/record/stored_episode.h"
#include "rl/record/table_row.h"
#include "rl/workload/task_purpose.h"
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

std::vector<Comparison> GrowthComparisons() {
  const std::vector<std::string> episode = {"prompt", "sample"}, epoch = {"prompt", "sample", "epoch"};
  std::vector<ComparedColumn> network;
  const std::vector<StreamSchema> streams = internal::GrowthStreams();
  for (size_t column = 3 + kFirstOwn; column < streams[internal::kNetworks].columns.size(); ++column) {
    network.push_back({streams[internal::kNetworks].columns[column].name, "", "number"});
  }
  const ComparedColumn logprobs = {"logprobs", "", "decision"};
  const ComparedColumn reference = {"ref_logprobs", "under the reference", "decision"};
  std::vector<Comparison> comparisons = {{"tasks", "hosts", {"prompt"}, {"host_seed"}},
                                         {"networks", "episodes", episode, {"host_params"}},
                                         {"networks", "networks", epoch, network},
                                         {"actions", "decisions", epoch, {{"allowed", "", "allowed action"}, "action"}},
                                         {"events",
                                          "events",
                                          epoch,
                                          {"kind",
                                           "severity",
                                           "seed_id",
                                           "slot_id",
                                           "blueprint_id",
                                           "from",
                                           "to",
                                           "gate",
                                           "params",
                                           "improvement",
                                           "blending_delta",
                                           {"counterfactual", "", "number"},
                                           "epochs_total",
                                           "epochs_in_stage",
                                           "reason"}},
                                         {"logprobs", "episodes", episode, {logprobs, reference}},
                                         {"rewards", "decisions", epoch, {"earned"}},
                                         {"rewards", "episodes", episode, {{"rewards", "", "function"}, "reward"}},
                                         {"advantages", "episodes", episode, {"advantage"}},
                                         {"advantages", "decisions", epoch, {"advantage"}}};
  for (Comparison& digests : CompareDigests()) comparisons.push_back(std::move(digests));
  comparisons.push_back(CompareMetrics());
  return comparisons;
}

const FeatureDecisions& GetFeatures(const EpisodeRecord& episode) {
  const auto* const decisions = std::any_cast<FeatureDecisions>(&episode.content);
  CHECK(decisions != nullptr);
  return *decisions;
}

void AppendNetworks(const StepRecord& part, const EpisodeRecord& episode, StreamTable& table) {
  const PlayedGrowth& played = GetPlayedGrowth(episode);
  const std::vector<float>& feature_TF = GetFeatures(episode).feature_TF;
  const size_t features = feature_TF.size() / played.report_T1.size();
  for (size_t t = 0; t < played.report_T1.size(); ++t) {
    const GrowthReport& report = played.report_T1[t];
    NetworkRow row = {.prompt = episode.prompt,
                      .sample = episode.sample,
                      .epoch = static_cast<int64_t>(t) + 1,
                      .report = report,
                      .has_seed = report.seed.has_value()};
    if (report.seed) row.seed = *report.seed;
    row.counterfactual = internal::ToColumn(row.seed.counterfactual);
    const auto begin = feature_TF.begin() + static_cast<std::ptrdiff_t>(t * features);
    row.feature_F.assign(begin, begin + static_cast<std::ptrdiff_t>(features));
    NetworkColumns(RowWriter(part.phase, part.step, table), row);
  }
}

void AppendDecisions(const StepRecord& part, const EpisodeRecord& episode, StreamTable& table) {
  const FeatureDecisions& decisions = GetFeatures(episode);
  const size_t epochs = decisions.action_T.size(), actions = decisions.allowed_TA.size() / epochs;
  for (size_t t = 0; t < epochs; ++t) {
    DecisionRow row = {.prompt = episode.prompt,
                       .sample = episode.sample,
                       .epoch = static_cast<int64_t>(t) + 1,
                       .action = decisions.action_T[t],
                       .earned = episode.earned_T.empty() ? 0 : episode.earned_T[t],
                       .advantage = episode.advantage_T.empty() ? episode.advantage : episode.advantage_T[t]};
    for (size_t a = 0; a < actions; ++a) {
      if (decisions.allowed_TA[t * actions + a] != 0) row.allowed.push_back(static_cast<int32_t>(a));
    }
    DecisionColumns(RowWriter(part.phase, part.step, table), row);
  }
}

void AppendEvents(const StepRecord& part, const EpisodeRecord& episode, StreamTable& table) {
  for (const GrowthEvent& event : GetPlayedGrowth(episode).events) {
    const EventRow row = {.prompt = episode.prompt,
                          .sample = episode.sample,
                          .severity = static_cast<uint8_t>(EventSeverity(event)),
                          .event = event,
                          .counterfactual = internal::ToColumn(event.counterfactual)};
    EventColumns(RowWriter(part.phase, part.step, table), row);
  }
}

// Reads the rows of an episode in all streams, and moves the readers behind them.
PlayedGrowth ReadPlayed(EpisodeRecord* episode, RowReader* networks, RowReader* decisions, RowReader* events) {
  PlayedGrowth played;
  for (; IsRowForEpisode(*networks, episode->prompt, episode->sample); networks->Next()) {
    NetworkRow row;
    NetworkColumns(*networks, row);
    row.seed.counterfactual = internal::FromColumn(row.counterfactual);
    if (row.has_seed) row.report.seed = row.seed;
    played.report_T1.push_back(std::move(row.report));
  }
  for (; IsRowForEpisode(*decisions, episode->prompt, episode->sample); decisions->Next()) {
    DecisionRow row;
    DecisionColumns(*decisions, row);
    played.action_T.push_back(row.action);
    episode->earned_T.push_back(row.earned);
    episode->advantage_T.push_back(row.advantage);
  }
  for (; IsRowForEpisode(*events, episode->prompt, episode->sample); events->Next()) {
    EventRow row;
    EventColumns(*events, row);
    row.event.counterfactual = internal::FromColumn(row.counterfactual);
    played.events.push_back(std::move(row.event));
  }
  return played;
}

}  // namespace

RecordSchema GrowthSchema(const Config& config) {
  std::vector<StreamSchema> streams = internal::GrowthStreams();
  for (StreamSchema& results : ResultStreams(/*has_counts=*/false)) streams.push_back(std::move(results));
  absl::StatusOr<GrowthRules> rules = GrowthRules::Of(config);
  CHECK(rules.ok());
  const auto shared = std::make_shared<const GrowthRules>(*std::move(rules));
  return {.streams = std::move(streams),
          .comparisons = GrowthComparisons(),
          .check = [config, shared](const StepTables& step) { return CheckGrowthTables(config, *shared, step); }};
}

std::vector<StreamTable> GrowthTables(const StepRecord& part) {
  std::vector<StreamTable> tables = EmptyTables(internal::GrowthStreams());
  for (const TaskRecord& task : part.task_P) {
    const int64_t host_seed = static_cast<int64_t>(GetGrowthTask(task).host_seed);
    HostColumns(RowWriter(part.phase, part.step, tables[internal::kHosts]), task.prompt, host_seed);
  }
  for (const EpisodeRecord& episode : part.episode_N) {
    EpisodeColumns(RowWriter(part.phase, part.step, tables[internal::kEpisodes]), episode,
                   GetPlayedGrowth(episode).host_params);
    AppendNetworks(part, episode, tables[internal::kNetworks]);
    AppendDecisions(part, episode, tables[internal::kDecisions]);
    AppendEvents(part, episode, tables[internal::kEvents]);
  }
  return tables;
}

uint64_t HostSeed(uint64_t seed, Purpose purpose, uint64_t step, uint64_t prompt) {
  const std::array<uint32_t, 4> bits = DrawBits(seed, purpose, {.step = step, .prompt = prompt});
  return uint64_t{bits[0]} << 32 | bits[1];
}

TaskRecord GrowthTaskRecord(const Config& config, Phase phase, int64_t step, int64_t prompt) {
  TaskRecord task;
  task.prompt = prompt;
  task.content = GrowthTask{HostSeed(static_cast<uint64_t>(config.run.seed), TaskPurpose(phase),
                                     static_cast<uint64_t>(step), static_cast<uint64_t>(prompt))};
  return task;
}

absl::StatusOr<EpisodeRecord> GrowthEpisodeRecord(const GrowthRules& rules, int64_t prompt, int64_t sample,
                                                  PlayedGrowth played) {
  ASSIGN_OR_RETURN(GrowthOutcome outcome, ComputeOutcome(rules, played));
  EpisodeRecord episode;
  episode.prompt = prompt;
  episode.sample = sample;
  episode.terminated = false;  // the limit of epochs ends it
  episode.decisions.count = episode.decisions.turns = static_cast<int64_t>(played.action_T.size());
  for (int32_t t = 0; t < static_cast<int32_t>(played.action_T.size()); ++t) episode.decisions.turn_T.push_back(t);
  outcome.decisions.origin = std::move(played);
  episode.content = std::move(outcome.decisions);
  return episode;
}

const GrowthTask& GetGrowthTask(const TaskRecord& task) {
  const auto* const content = std::any_cast<GrowthTask>(&task.content);
  CHECK(content != nullptr);
  return *content;
}

const PlayedGrowth& GetPlayedGrowth(const EpisodeRecord& episode) {
  const auto* const played = std::any_cast<PlayedGrowth>(&GetFeatures(episode).origin);
  CHECK(played != nullptr);
  return *played;
}

absl::StatusOr<StepRecord> ReadGrowthRecord(const GrowthRules& rules, const StepTables& step) {
  StepRecord record;
  static_cast<StepResults&>(record) = ReadResults(step);
  for (RowReader hosts(step.Find("hosts")); hosts.has_row(); hosts.Next()) {
    TaskRecord& task = record.task_P.emplace_back();
    int64_t host_seed = 0;
    HostColumns(hosts, task.prompt, host_seed);
    task.content = GrowthTask{static_cast<uint64_t>(host_seed)};
  }
  RowReader networks(step.Find("networks")), decisions(step.Find("decisions")), events(step.Find("events"));
  for (RowReader episodes(step.Find("episodes")); episodes.has_row(); episodes.Next()) {
    EpisodeRecord read;
    int64_t host_params = 0;
    EpisodeColumns(episodes, read, host_params);
    PlayedGrowth played = ReadPlayed(&read, &networks, &decisions, &events);
    played.host_params = host_params;
    absl::StatusOr<EpisodeRecord> episode = GrowthEpisodeRecord(rules, read.prompt, read.sample, std::move(played));
    if (!episode.ok()) {
      return WithContext(episode.status(),
                         absl::StrCat("step ", step.step, " prompt ", read.prompt, " sample ", read.sample));
    }
    TakeNumbers(std::move(read), &*episode);
    record.episode_N.push_back(*std::move(episode));
  }
  return record;
}

}  // namespace reprise::rl
