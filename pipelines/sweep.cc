// sweep: many runs from one file, and the table that compares them.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/comm/agree.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/configuration.h"
#include "pipelines/program/program.h"
#include "pipelines/sweeps/run_sweep.h"
#include "pipelines/sweeps/stage_progress.h"
#include "pipelines/sweeps/sweep_plan.h"
#include "pipelines/sweeps/table_markdown.h"
#include "pipelines/sweeps/teams/assign_trials.h"
#include "pipelines/watchdog/watchdog.h"
#include "rl/config/config.h"

namespace reprise {
namespace {

struct SweepFlags {
  std::string path, teams;
  std::optional<int64_t> task, tasks;
  bool dry_run = false, seeds_needed = false;
};

nlohmann::ordered_json SettingsJson(const SweepPlan& plan, const Trial& trial) {
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  for (size_t i = 0; i < plan.axes.size(); ++i) settings[plan.axes[i]] = trial.settings[i];
  return settings;
}

void PrintPlan(const SweepPlan& plan, bool json) {
  for (const Trial& trial : plan.trials) {
    if (json) {
      PrintJsonLine({{"event", "trial"}, {"name", trial.name}, {"settings", SettingsJson(plan, trial)}});
      continue;
    }
    std::string line = trial.name;
    for (size_t i = 0; i < plan.axes.size(); ++i) {
      if (!trial.settings[i].empty()) absl::StrAppend(&line, "  ", plan.axes[i], "=", trial.settings[i]);
    }
    PrintText(Printable(line) + "\n");
  }
}

void PrintJson(const SweepResult& result, int64_t failed) {
  constexpr absl::string_view kStatus[] = {"unfinished", "done", "failed"};
  for (size_t i = 0; i < result.table.outcomes.size(); ++i) {
    const TrialOutcome& outcome = result.table.outcomes[i];
    nlohmann::ordered_json line = {{"event", "trial"},
                                   {"name", result.table.plan.trials[i].name},
                                   {"status", kStatus[static_cast<size_t>(outcome.status)]},
                                   {"code", outcome.code},
                                   {"sentence", outcome.sentence},
                                   {"run_digest", outcome.run_digest},
                                   {"metric", result.table.scores[i].metric},
                                   {"score", nullptr}};
    if (result.table.scores[i].value) line["score"] = *result.table.scores[i].value;
    PrintJsonLine(line);
  }
  PrintJsonLine({{"event", "done"},
                 {"trials", result.table.outcomes.size()},
                 {"failed", failed},
                 {"table_digest", result.table_digest},
                 {"table_sha256", result.table_sha256}});
}

void PrintResult(const SweepResult& result, const std::string& output, const SweepFlags& flags, bool json) {
  int64_t failed = 0;
  for (const TrialOutcome& outcome : result.table.outcomes) failed += outcome.status == TrialStatus::kFailed ? 1 : 0;
  if (json) {
    PrintJson(result, failed);
    return;
  }
  if (flags.seeds_needed) PrintText(absl::StrCat(SeedsNeededMarkdown(result.table), "\n"));
  PrintText(absl::StrCat("trials ", result.table.outcomes.size(), ", of which ", failed, " failed\n", "table ",
                         Printable(output), "/sweep.md\n"));
  std::printf("table digest sha256:%s\nsweep.h5 sha256:%s\n", result.table_digest.c_str(), result.table_sha256.c_str());
}

absl::StatusOr<std::vector<int>> ParseTeams(const SweepFlags& flags, int ranks) {
  if (flags.teams.empty()) return std::vector<int>{ranks};
  absl::StatusOr<std::vector<int>> sizes = ReadTeamSizes(flags.teams, ranks);
  if (!sizes.ok()) return WithContext(sizes.status(), absl::StrCat("--teams ", flags.teams));
  return sizes;
}

// Returns what the command line says of [execution], before any file is read. Where its keys are wrong, the defaults:
// PlanSweep reports the error.
rl::ExecutionConfig ReadExecution(const KeyEdits& edits) {
  KeyEdits of_execution;
  for (const std::string& edit : edits.set) {
    if (absl::StartsWith(edit, "execution.")) of_execution.set.push_back(edit);
  }
  rl::Config config;
  return OverrideExecution(of_execution, &config).ok() ? config.execution : rl::ExecutionConfig();
}

// Reads the sweep's file and every configuration that it names. A rank that is lost meanwhile is missed by those that
// wait for it. Collective.
absl::StatusOr<SweepPlan> Plan(const std::string& path, const CommonFlags& common, int largest_team, Communicator& comm,
                               Logger& logger) {
  constexpr WatchedWork kPlanning = {.name = "sweep", .remedy = "the same command begins anew"};
  const rl::ExecutionConfig execution = ReadExecution(common.keys);
  std::unique_ptr<Watchdog> watchdog;
  if (comm.size() > 1 && execution.watchdog) {
    ASSIGN_OR_RETURN(watchdog, AgreeOk(comm, Watchdog::Start(comm, execution.watchdog_seconds, kPlanning)));
    watchdog->Enter({.kind = RunPhase::kPlan});
  }
  StageProgress progress(&logger, "checked before the first one");
  const auto report = [&](int64_t done, int64_t all) {
    if (watchdog != nullptr) watchdog->Enter({.kind = RunPhase::kPlan});  // however many trials there are
    if (comm.rank() == 0) progress.Update("trial", done, all);
  };
  return AgreeOk(comm, PlanSweep(path, common.keys, largest_team, report));
}

// Variants may be compared that differ in more than the sweep's file says; "" if they do not.
std::string MakeWarning(const SweepPlan& plan) {
  if (plan.also_differing.empty()) return "";
  return absl::StrCat(
      "variants of one problem also differ in keys that the sweep's file does not vary, which come with another key, "
      "as "
      "algorithm.name, or from another configuration: ",
      absl::StrJoin(plan.also_differing, ", "), "; set those that you do not mean to compare in [settings]");
}

absl::StatusOr<int> RunVerb(const SweepFlags& flags, const CommonFlags& common, SweepRequest request,
                            Communicator& comm, Logger& logger) {
  const int ranks = common.ranks > 0 ? common.ranks : comm.size();
  ASSIGN_OR_RETURN(request.teams, ParseTeams(flags, ranks));  // the same on all ranks
  if (flags.tasks && !flags.task) {
    return absl::InvalidArgumentError(absl::StrCat("--tasks ", *flags.tasks, ": --task says which of them this is"));
  }
  request.task = flags.task.value_or(0);
  request.tasks = flags.tasks.value_or(1);
  if (request.task >= request.tasks) {
    return absl::InvalidArgumentError(absl::StrCat("--task ", request.task, ": expected a number less than --tasks, ",
                                                   request.tasks, "; the first task is 0"));
  }
  const int largest = *std::max_element(request.teams.begin(), request.teams.end());
  ASSIGN_OR_RETURN(request.plan, Plan(flags.path, common, largest, comm, logger));
  request.warning = MakeWarning(request.plan);
  if (flags.dry_run) {
    if (comm.rank() != 0 || common.check) return kExitOk;
    PrintPlan(request.plan, common.json);
    if (!request.warning.empty()) logger.Warning(request.warning);
    return kExitOk;
  }
  if (request.output.empty()) {
    return absl::InvalidArgumentError("--output is missing: the folder of the sweep; --dry-run needs none");
  }
  request.check = common.check;
  request.verbosity = common.quiet ? Verbosity::kQuiet : Verbosity::kNormal;
  const std::string output = request.output;
  ASSIGN_OR_RETURN(const std::optional<SweepResult> result, RunSweep(request, comm, logger));
  if (result) PrintResult(*result, output, flags, common.json);
  return kExitOk;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::PrepareProcess();
  reprise::CommandLine command_line(
      "sweep", "Runs the trials of a grid, a list or random draws of settings, and compares them in one table.",
      "./reprise sweep configs/sweep_grpo_rloo.toml --output sweeps/first");
  reprise::SweepFlags flags;
  reprise::SweepRequest request;
  command_line.Add("SWEEP", flags.path, "The sweep's file (docs/sweeps.md), as configs/sweep_grpo_rloo.toml",
                   {.is_required = true});
  command_line.Add("--output", request.output,
                   "The sweep's folder, with a run in trials/NAME for each trial. If it holds this sweep, what is "
                   "missing is done: trials that were killed go on, those that failed are tried again");
  command_line.Add("--teams", flags.teams,
                   "Divides the ranks into teams, each of which runs a trial at a time and takes the next when it is "
                   "free: 2 means teams of two ranks, 2,1,1 these three teams; default: one team");
  command_line.Add("--tasks", flags.tasks,
                   "Shares the trials among so many tasks of a job array, each with this command; the task that ends "
                   "last writes the table",
                   {.check = reprise::AtLeast(1)});
  command_line.Add("--task", flags.task, "Which of the tasks this is, from 0: --tasks 8 --task $SLURM_ARRAY_TASK_ID",
                   {.check = reprise::AtLeast(0), .needs = "--tasks"});
  command_line.Add("--attempts", request.attempts,
                   "A trial fails when so many attempts in a row have ended with the death of the process before "
                   "another step was committed; a greater number tries such a trial again",
                   {.shows_default = true, .check = reprise::AtLeast(1)});
  command_line.Add("--dry-run", flags.dry_run,
                   "Checks every trial, prints their names and settings, and runs nothing; with --slurm prints the "
                   "batch script instead of submitting it");
  command_line.Add("--seeds-needed", flags.seeds_needed,
                   "Also prints how many seeds each comparison needs, paired by seed and unpaired");
  command_line.AddOverrides("a configuration key of every trial");
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  while (request.output.size() > 1 && request.output.back() == '/') request.output.pop_back();
  request.interrupt = &reprise::InterruptBySignals();
  return reprise::RunProgram(command_line, [&](reprise::Communicator& comm, reprise::Logger& logger) {
    return reprise::RunVerb(flags, command_line.flags(), std::move(request), comm, logger);
  });
}
