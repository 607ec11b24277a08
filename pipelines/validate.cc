// validate: checks everything about a run that one process can check before it is started.

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/machine/memory.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/estimate/cost_tables.h"
#include "pipelines/estimate/traffic_estimate.h"
#include "pipelines/program/configuration.h"
#include "pipelines/program/program.h"
#include "pipelines/stored/held_out_of.h"
#include "rl/config/unread_keys.h"
#include "rl/learner/choices.h"
#include "rl/run/prepare.h"
#include "rl/run/workloads.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise {
namespace {

struct ValidateFlags {
  std::string config_path;
  int64_t ranks = 1;
  bool print_config = false;
};

void PrintConfiguration(const rl::ResolvedConfig& resolved, bool json) {
  const std::string text = rl::PrintConfig(resolved);
  if (json) {
    PrintJsonLine({{"event", "configuration"}, {"toml", text}});
  } else {
    PrintText(absl::StrCat(text, "\n"));
  }
}

// Flushes now: the weights are loaded next, for which this machine's memory may be too small.
void PrintAsText(const std::string& text) {
  PrintText(absl::StrCat(text, "\n"));
  std::fflush(stdout);
}

void PrintMemory(const rl::MemoryEstimate& estimate, int64_t ranks, bool json) {
  if (!json) {
    PrintAsText(MemoryTable(estimate));
    return;
  }
  nlohmann::ordered_json memory = {{"event", "memory"}, {"ranks", ranks}, {"total_bytes", estimate.total_bytes()}};
  memory["items"] = nlohmann::json::array();
  for (const rl::MemoryItem& item : estimate.items) {
    memory["items"].push_back({{"what", item.what}, {"formula", item.formula}, {"bytes", item.bytes}});
  }
  for (const rl::MemorySymbol& symbol : estimate.symbols) memory["symbols"][symbol.letter] = symbol.value;
  if (!estimate.not_predicted.empty()) memory["not_predicted"] = estimate.not_predicted;
  PrintJsonLine(memory);
}

nlohmann::ordered_json ToJson(const SentByAll& sent) { return {{"messages", sent.messages}, {"bytes", sent.bytes}}; }

void PrintTraffic(const ExchangeTraffic& exchange, const CollectiveCalls& calls, int64_t updates, int64_t ranks) {
  const double messages = ranks == 1 ? 0 : calls.messages(ranks);
  PrintJsonLine({{"event", "traffic"},
                 {"ranks", ranks},
                 {"buckets", exchange.buckets},
                 {"update", {{"sums", ToJson(exchange.sums)}, {"weights", ToJson(exchange.weights)}}},
                 {"optimizer_state", ToJson(exchange.state)},
                 {"step",
                  {{"updates", updates},
                   {"collectives", ranks == 1 ? 0 : calls.total()},
                   {"messages", static_cast<double>(updates) * exchange.update().messages + messages}}}});
}

void WarnOfLittleMemory(const rl::MemoryEstimate& estimate, Logger& logger) {
  const int64_t here = UsableMemoryBytes();
  if (estimate.total_bytes() <= here) return;
  logger.Warning(absl::StrCat(
      "a rank may need ", FormatBytes(estimate.total_bytes()), "; this process may use ", FormatBytes(here),
      ": fewer run.logical_shards, execution.threads, execution.decode_slots or "
      "execution.micro_batch_tokens",
      estimate.remedy.empty() ? "" : absl::StrCat(", or ", estimate.remedy, ","), " need less"));
}

void PrintCost(const rl::Config& config, const rl::Choices& choices, const rl::RunCost& cost, int64_t ranks, bool json,
               Logger& logger) {
  PrintMemory(cost.memory, ranks, json);
  WarnOfLittleMemory(cost.memory, logger);
  if (json) {
    PrintTraffic(EstimateExchange(config, cost.layout, ranks), CollectivesOfStep(config, choices),
                 UpdatesOfStep(config, choices), ranks);
  } else {
    PrintAsText(CostTable(config, choices, cost, ranks));
  }
}

absl::StatusOr<int> Validate(const ValidateFlags& flags, const CommonFlags& common, Logger& logger) {
  ASSIGN_OR_RETURN(const rl::ResolvedConfig resolved,
                   ReadConfiguration(flags.config_path, common.keys, flags.ranks, &logger));
  const rl::Config& config = resolved.config;
  RETURN_IF_ERROR(rl::CheckKeysAreRead(config));
  ASSIGN_OR_RETURN(const std::vector<std::string> warnings, rl::CheckRunIsLongEnough(config, resolved.origins));
  for (const std::string& warning : warnings) logger.Warning(warning);
  RETURN_IF_ERROR(rl::CheckShapeKeys(config.model, resolved.origins));
  ASSIGN_OR_RETURN(const rl::Choices choices, rl::ResolveChoices(config));
  if (flags.print_config) PrintConfiguration(resolved, common.json);
  if (const auto estimate = rl::KindOf(config).estimate) {
    ASSIGN_OR_RETURN(const rl::RunCost cost,
                     estimate(config, flags.ranks, rl::ChooseThreads(config.execution, static_cast<int>(flags.ranks))));
    PrintCost(config, choices, cost, flags.ranks, common.json, logger);
  }
  ASSIGN_OR_RETURN(rl::RunParts parts, rl::PrepareRun(config, static_cast<int>(flags.ranks)));
  RETURN_IF_ERROR(JudgeBaseModel(config, &parts).status());
  for (const std::string& warning : parts.warnings) logger.Warning(warning);
  RETURN_IF_ERROR(parts.workload->ProbeProcess(config));
  if (common.json) {
    PrintJsonLine({{"event", "ok"}});
  } else {
    std::printf("ok\n");
  }
  return kExitOk;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::PrepareProcess();
  reprise::CommandLine command_line(
      "validate",
      "Checks everything about a run without training: configuration, model, tokenizer, tasks, ranks. Estimates the "
      "memory of a rank, and the work and messages of a step. The last line is `ok`.",
      "./reprise validate configs/quickstart.toml --ranks 2 --set rollout.num_generations=16");
  reprise::ValidateFlags flags;
  command_line.Add("CONFIG", flags.config_path, "The configuration, a TOML file", {.is_required = true});
  command_line.Add("--ranks", flags.ranks, "The number of ranks that will share the run; none is started",
                   {.shows_default = true, .check = reprise::AtLeast(1)});
  command_line.Add("--print-config", flags.print_config, "Prints every value with its origin");
  command_line.AddOverrides();
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  return reprise::RunOnOneRank(
      command_line, [&](reprise::Logger& logger) { return reprise::Validate(flags, command_line.flags(), logger); });
}
