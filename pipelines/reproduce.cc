// reproduce: re-executes a run and compares every record and digest; verifies the table of a sweep.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/io/file_system.h"
#include "core/log/progress.h"
#include "core/parallel/activity.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/configuration.h"
#include "pipelines/program/long_evaluation.h"
#include "pipelines/program/program.h"
#include "pipelines/stored/choose_path.h"
#include "pipelines/stored/phase_name.h"
#include "pipelines/stored/stored_run.h"
#include "pipelines/stored/stored_weights.h"
#include "pipelines/sweeps/stage_progress.h"
#include "pipelines/sweeps/stored_plan.h"
#include "pipelines/sweeps/sweep_folder.h"
#include "pipelines/sweeps/trial_outcome.h"
#include "pipelines/sweeps/verify_sweep.h"
#include "pipelines/training/initial_weights.h"
#include "pipelines/training/reduction.h"
#include "pipelines/watchdog/phase_times.h"
#include "pipelines/watchdog/watch_reader.h"
#include "rl/config/check.h"
#include "rl/learner/choices.h"
#include "rl/record/step_tables.h"
#include "rl/run/execution.h"
#include "rl/run/path_keys.h"
#include "rl/run/prepare.h"
#include "rl/run/step_number.h"
#include "rl/run/stored_tensors.h"
#include "rl/run/verify_sink.h"

namespace reprise {
namespace {

struct ReproduceFlags {
  std::string run_path, mode = "replay", process_command, init_from;
  std::vector<std::string> model_paths, data_paths, held_out_paths;  // of which each run has one
  int64_t from_step = 1, steps = 0;                                  // of training; 0 steps: all remaining ones
  std::optional<int64_t> threads;
  std::optional<int64_t> samples;  // of a sweep
};

// What the execution of a run has shown; on rank 0 also where it differs.
struct RunVerdict {
  bool differs = false;
  int64_t steps = 0;  // the requested ones that agree
  std::optional<rl::Divergence> found = std::nullopt;
};

void PrintVerdict(const std::string& mode, bool json, const RunVerdict& of_run) {
  const std::optional<rl::Divergence>& found = of_run.found;
  const int64_t steps = of_run.steps;
  if (json) {
    nlohmann::ordered_json verdict;
    verdict["event"] = "verdict";
    verdict["pass"] = !found.has_value();
    verdict["mode"] = mode;
    verdict["steps_checked"] = steps;
    verdict["first_divergence"] = nullptr;
    if (found) {
      verdict["first_divergence"] = {
          {"phase", PhaseName(found->phase)}, {"step", found->step},       {"stage", found->stage},
          {"tensor", found->tensor},          {"stored", found->expected}, {"computed", found->actual}};
    }
    PrintJsonLine(verdict);
  } else if (found) {
    PrintText(absl::StrCat("FAIL: ", Printable(found->ToString()), "\n"));
  } else {
    std::printf("PASS: %d steps agree bit for bit (%s)\n", static_cast<int>(steps), mode.c_str());
  }
}

// The part of a run that is executed.
struct StepRange {
  bool is_whole = true;
  int64_t last_step = 0;                                 // of training
  std::optional<rl::LearnerState> state = std::nullopt;  // where it begins; nullopt: at the start of the run
};

// Says why the steps before a range are executed, too. `serves`: whether checkpoints hold what later steps need.
std::string NoteOfEarlierSteps(int64_t from_step, const rl::Config& config, bool serves) {
  const std::string executed = absl::StrCat("every step before step ", from_step, " is executed as well");
  if (!serves) {
    return absl::StrCat(
        "a checkpoint of this run lacks what later steps need, such as the reference model, the best "
        "evaluation or the state of a schedule: ",
        executed);
  }
  return absl::StrCat("the run has no checkpoint before step ", from_step,
                      " (artifact.checkpoint_every = ", config.artifact.checkpoint_every, "): ", executed,
                      "; train with --set artifact.checkpoint_every=N for a checkpoint every N steps");
}

// A range begins at the last checkpoint before its first step; if that is incomplete, the run is executed from the
// start.
absl::StatusOr<StepRange> ChooseStepRange(const ReproduceFlags& flags, const StoredRun& run, const rl::Config& config,
                                          const rl::RunParts& parts, Logger* logger) {
  StepRange range = {.is_whole = flags.from_step == 1 && flags.steps == 0, .last_step = run.last_training_step};
  if (range.is_whole) return range;
  if (flags.from_step > std::max<int64_t>(run.last_training_step, 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--from-step ", flags.from_step, ": the run's last training step is ", run.last_training_step));
  }
  const int64_t left = range.last_step - flags.from_step + 1;
  if (flags.steps > 0 && flags.steps < left) range.last_step = flags.from_step - 1 + flags.steps;
  if (flags.steps > left && logger != nullptr) {
    logger->Warning(
        absl::StrCat("--steps ", flags.steps, ": from step ", flags.from_step, " on the run has ", left,
                     left == 1 ? " training step, which is checked" : " training steps, which are checked"));
  }
  ASSIGN_OR_RETURN(const rl::Choices choices, rl::ResolveChoices(config));
  const bool serves = rl::CheckpointsAreStates(config, choices);
  int64_t begin = 0;
  for (const int64_t step : StepsWithWeights(run)) {
    if (step < flags.from_step && serves) begin = step;
  }
  if (begin == 0) {
    if (flags.from_step > 1 && logger != nullptr) logger->Info(NoteOfEarlierSteps(flags.from_step, config, serves));
    return range;
  }
  if (logger != nullptr) logger->Info(absl::StrCat("starting from the checkpoint of step ", begin));
  if (const rl::StepTables* const step = rl::FindStep(run.steps, rl::Phase::kTraining, begin)) {
    ASSIGN_OR_RETURN(range.state, rl::StateOfCheckpoint(*run.reader, config, *step, parts.workload->policy().layout()));
  }
  return range;
}

// Returns whether a step was requested; earlier executed steps must agree, too.
bool IsAskedFor(const ReproduceFlags& flags, const rl::StepTables& step) {
  return flags.from_step == 1 || (step.phase == rl::Phase::kTraining && step.step >= flags.from_step);
}

// Sets the command of the run's external process on this machine. It must be the same program: other replies would
// differ.
absl::Status TakeProcessCommand(const ReproduceFlags& flags, rl::Config* config) {
  if (flags.process_command.empty()) {
    const bool asks = flags.mode == "regenerate" && !config->process.command.empty();
    return asks ? NeedsProcessCommand(*config, "because its replies are regenerated") : absl::OkStatus();
  }
  if (config->process.command.empty()) {
    return absl::InvalidArgumentError("--process-command: the run has no external process; remove the option");
  }
  if (flags.mode == "replay") {
    return absl::InvalidArgumentError(
        "--process-command: a replay uses the stored replies and calls no process; add --mode regenerate");
  }
  config->process.command = flags.process_command;
  return absl::OkStatus();
}

// Returns the run's configuration with the flags of this execution applied.
absl::StatusOr<rl::Config> ConfigFor(const ReproduceFlags& flags, const CommonFlags& common, const StoredRun& run,
                                     int ranks) {
  RETURN_IF_ERROR(CheckReproducible(flags.run_path, run.config.run));
  rl::Config config = run.config;
  RETURN_IF_ERROR(OverrideExecution(common.keys, &config));
  if (flags.threads) config.execution.threads = *flags.threads;
  for (const auto& [flag, given] : {std::pair("--model", &flags.model_paths),
                                    {"--data", &flags.data_paths},
                                    {"--held-out", &flags.held_out_paths}}) {
    absl::StatusOr<std::string> path = ChoosePath(flag, *given, run);
    if (!path.ok()) return WithContext(path.status(), flags.run_path);
    RETURN_IF_ERROR(TakePath(flag, *path, &config));
  }
  RETURN_IF_ERROR(TakeProcessCommand(flags, &config));
  RETURN_IF_ERROR(rl::CheckConfig(config, ranks));
  RETURN_IF_ERROR(CheckPathsAreGiven(config));
  return config;
}

// Returns the run's model as it was before the first step.
absl::StatusOr<rl::RunParts> PartsFor(const ReproduceFlags& flags, const StoredRun& run, const rl::Config& config,
                                      int ranks_on_this_machine) {
  ASSIGN_OR_RETURN(rl::RunParts parts, rl::PrepareRun(config, ranks_on_this_machine));
  if (!flags.init_from.empty()) RETURN_IF_ERROR(TakeInitialWeights(flags.init_from, config, &parts));
  RETURN_IF_ERROR(CheckInitialWeights(run, parts));
  RETURN_IF_ERROR(CheckSameFiles(run, parts.external_files));
  rl::ProcessClient* const process = parts.workload->process();
  if (process != nullptr && flags.mode == "replay") {
    process->Fail(absl::FailedPreconditionError("a replay calls no external process"));
  } else {
    RETURN_IF_ERROR(parts.workload->ProbeProcess(config));
  }
  return parts;
}

// NotFound for a run that ended, or is, before its first step is stored. DataLoss for a finished one that has steps of
// training only in its configuration: the first would be drawn, of any size, before its record is missed.
absl::StatusOr<StoredRun> OpenWithSteps(const std::string& path) {
  ASSIGN_OR_RETURN(StoredRun run, OpenStoredRun(path));
  if (run.unfinished_in.empty() && run.last_training_step == 0 && run.config.run.steps > 0) {
    return absl::DataLossError(absl::StrCat(path, ": it is a finished run without any of the ", run.config.run.steps,
                                            " steps of training in its configuration"));
  }
  if (run.unfinished_in.empty() || !run.steps.empty()) return run;
  return absl::NotFoundError(
      absl::StrCat(path,
                   ": its run holds no step yet that could be reproduced; the command that started it continues "
                   "it with --resume"));
}

// Returns how many of the run's steps are done when `step` is. Steps of the SFT phase that were not taken have numbers.
int64_t CountStepsDone(const rl::StepTables& step, const StoredRun& run, const rl::Config& config) {
  const int64_t number = rl::ArtifactStep(config, step.phase, step.step);
  const auto is_done = [&](const rl::StepTables& stored) {
    return rl::ArtifactStep(config, stored.phase, stored.step) <= number;
  };
  return std::partition_point(run.steps.begin(), run.steps.end(), is_done) - run.steps.begin();
}

// Executes a run again; with common.check it only prepares that. Collective.
absl::StatusOr<RunVerdict> ReproduceRun(const ReproduceFlags& flags, const CommonFlags& common, Communicator& comm,
                                        Logger& logger) {
  ASSIGN_OR_RETURN(StoredRun run, AgreeOk(comm, OpenWithSteps(flags.run_path)));
  ASSIGN_OR_RETURN(const rl::Config config,
                   AgreeOk(comm, ConfigFor(flags, common, run, common.ranks > 0 ? common.ranks : comm.size())));
  const std::string note = config.evaluation.every > 0 ? NoteOfLongEvaluation(config.evaluation) : "";
  if (!note.empty() && !common.check) logger.Info(note);
  std::unique_ptr<Watchdog> watchdog;
  if (!common.check) {
    ASSIGN_OR_RETURN(watchdog, WatchReader(config.execution, "reproduction", flags.run_path, comm));
  }
  ASSIGN_OR_RETURN(const rl::RunParts parts, AgreeOk(comm, PartsFor(flags, run, config, comm.ranks_on_this_machine())));
  ASSIGN_OR_RETURN(const StepRange range,
                   AgreeOk(comm, ChooseStepRange(flags, run, config, parts, common.check ? nullptr : &logger)));
  if (common.check) return RunVerdict();
  if (rl::ProcessClient* const process = parts.workload->process()) {
    process->WatchOthers([&comm] {
      MarkActivity();  // its client limits the wait for a reply
      return comm.PeerHasFailed();
    });
  }

  Progress progress({0, static_cast<int64_t>(run.steps.size()), config.execution.log_every}, &logger, Seconds);
  int64_t checked = 0;
  rl::VerifySink sink(config, *run.reader, run.unfinished_in.empty(), run.steps,
                      rl::ListTensorNames(parts.workload->policy().layout()), [&](const rl::StepTables& step) {
                        checked += IsAskedFor(flags, step) ? 1 : 0;
                        progress.Update(CountStepsDone(step, run, config), flags.mode);
                      });
  ASSIGN_OR_RETURN(const std::unique_ptr<rl::Execution> execution,
                   rl::Execution::Create({.config = config,
                                          .parts = parts,
                                          .comm = comm,
                                          .sink = &sink,
                                          .records = flags.mode == "replay" ? &run.steps : nullptr,
                                          .observer = watchdog.get()}));
  rl::Learner& learner = execution->learner();
  if (range.state) learner.Restore(*range.state);
  RETURN_IF_ERROR(learner.Run(range.last_step));
  if (watchdog != nullptr) watchdog->Enter({.kind = RunPhase::kFinish});
  const bool checks_rest = comm.rank() == 0 && range.is_whole;
  RETURN_IF_ERROR(AgreeOk(comm, checks_rest ? WithContext(sink.CheckComplete(), flags.run_path) : absl::OkStatus()));
  // Rank 0 has the verdict; all ranks exit with its code.
  std::vector<int64_t> differs = {sink.divergence().has_value() ? 1 : 0};
  RETURN_IF_ERROR(AllreduceMax(comm, absl::MakeSpan(differs)));
  return RunVerdict{.differs = differs[0] != 0, .steps = checked, .found = sink.divergence()};
}

// The flags for a trial of a sweep: its run may have started from a model and read files, or not.
absl::StatusOr<ReproduceFlags> FlagsForTrial(ReproduceFlags flags, const std::string& name) {
  flags.run_path = JoinPath(TrialDirectory(flags.run_path, name), "run.h5");
  ASSIGN_OR_RETURN(StoredRun run, OpenStoredRun(flags.run_path));
  const auto drop_unread = [&](absl::string_view flag, std::vector<std::string>& given) {
    if (rl::PathKeyForFlag(flag, run.config).path(run.config).empty()) given.clear();
  };
  drop_unread("--model", flags.model_paths);
  drop_unread("--data", flags.data_paths);
  drop_unread("--held-out", flags.held_out_paths);
  if (run.config.process.command.empty()) flags.process_command.clear();
  return flags;
}

// InvalidArgument for an option that none of the trials reads. A run is opened only until each option has been read.
absl::Status CheckOptionsAreRead(const ReproduceFlags& flags) {
  std::vector<std::pair<std::string, std::string>> unread;  // the option, and what no trial has
  for (const auto& [flag, given] : {std::pair("--model", &flags.model_paths),
                                    {"--data", &flags.data_paths},
                                    {"--held-out", &flags.held_out_paths}}) {
    const rl::PathKey& key = rl::PathKeyForFlag(flag, rl::Config());
    if (!given->empty()) unread.emplace_back(flag, absl::StrCat("read a ", key.what));
  }
  if (!flags.process_command.empty()) unread.emplace_back("--process-command", "asked an external process");
  if (unread.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const StoredPlan plan, ReadPlan(PosixFileSystem(), flags.run_path));
  for (const PlannedTrial& trial : plan.trials) {
    const std::string path = JoinPath(TrialDirectory(flags.run_path, trial.name), "run.h5");
    if (!PosixFileSystem().Stat(path).ok()) continue;  // it has failed
    ASSIGN_OR_RETURN(StoredRun run, OpenStoredRun(path));
    std::erase_if(unread, [&](const auto& option) {
      if (option.first == "--process-command") return !run.config.process.command.empty();
      return !rl::PathKeyForFlag(option.first, run.config).path(run.config).empty();
    });
    if (unread.empty()) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(unread[0].first, ": no trial of the sweep has ", unread[0].second, ": remove ", unread[0].first));
}

void PrintSweepVerdict(const SweepCheck& check, const std::string& difference, int64_t steps, bool json) {
  if (json) {
    nlohmann::ordered_json verdict = {{"event", "verdict"},     {"pass", difference.empty()},
                                      {"trials", check.trials}, {"executed", check.sampled},
                                      {"steps_checked", steps}, {"first_divergence", nullptr}};
    if (!difference.empty()) verdict["first_divergence"] = {{"difference", difference}};
    PrintJsonLine(verdict);
  } else if (!difference.empty()) {
    PrintText(absl::StrCat("FAIL: ", Printable(difference), "\n"));
  } else {
    PrintText(absl::StrCat("PASS: the table is that of its ", check.trials, " trials; executed again: ",
                           check.sampled.empty() ? "none" : Printable(absl::StrJoin(check.sampled, ", ")), " (", steps,
                           " steps agree bit for bit)\n"));
  }
}

// Gives all ranks what rank 0 has found. Collective.
absl::Status ShareCheck(Communicator& comm, SweepCheck* check) {
  const std::string mine =
      absl::StrCat(check->difference.empty() ? "" : "differs", "\n", absl::StrJoin(check->sampled, "\n"));
  ASSIGN_OR_RETURN(const std::string text, BroadcastBytes(comm, 0, mine));
  if (comm.rank() == 0) return absl::OkStatus();
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  check->difference = lines[0];
  check->sampled.assign(lines.begin() + 1, lines.end());
  std::erase(check->sampled, "");
  return absl::OkStatus();
}

// Verifies the table against the trials, and executes some of them again. The first rank alone does the former.
// Collective.
absl::StatusOr<int> ReproduceSweep(const ReproduceFlags& flags, const CommonFlags& common, Communicator& comm,
                                   Logger& logger) {
  constexpr int64_t kSamples = 2;
  if (!flags.init_from.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--init-from ", flags.init_from, ": ", flags.run_path,
                                                   " is the folder of a sweep, whose trials begin with no other run's "
                                                   "weights: remove the option"));
  }
  rl::Config config;
  RETURN_IF_ERROR(OverrideExecution(common.keys, &config));
  // Beside the watchdog of each trial that is executed: this one watches the ranks also before and between them.
  std::unique_ptr<Watchdog> watchdog;
  if (!common.check) {
    ASSIGN_OR_RETURN(watchdog, WatchReader(config.execution, "reproduction", flags.run_path, comm));
  }
  StageProgress progress(&logger, "for the table");
  const auto report = [&](absl::string_view what, int64_t done, int64_t all) { progress.Update(what, done, all); };
  absl::StatusOr<SweepCheck> found = SweepCheck();
  if (comm.rank() == 0) {
    found = CheckSweep(PosixFileSystem(), flags.run_path, flags.samples.value_or(kSamples), report);
    if (found.ok() && found->difference.empty()) {
      if (absl::Status status = CheckOptionsAreRead(flags); !status.ok()) found = std::move(status);
    }
  }
  ASSIGN_OR_RETURN(SweepCheck check, AgreeOk(comm, std::move(found)));
  RETURN_IF_ERROR(ShareCheck(comm, &check));
  if (watchdog != nullptr) watchdog->Enter({.kind = RunPhase::kSweep});
  std::string difference = check.difference;
  int64_t steps = 0;
  for (const std::string& name : check.sampled) {
    if (!difference.empty()) break;
    if (!common.check) logger.Info(absl::StrCat("executing trial ", name, " again"));
    ASSIGN_OR_RETURN(const ReproduceFlags own, AgreeOk(comm, FlagsForTrial(flags, name)));
    ASSIGN_OR_RETURN(const RunVerdict verdict, ReproduceRun(own, common, comm, logger));
    steps += verdict.steps;
    if (!verdict.differs) continue;
    difference = absl::StrCat("trial ", name, ": ", verdict.found ? verdict.found->ToString() : "");
  }
  if (comm.rank() == 0 && !common.check) PrintSweepVerdict(check, difference, steps, common.json);
  return difference.empty() ? kExitOk : kExitDiffers;
}

absl::StatusOr<int> Reproduce(const ReproduceFlags& flags, const CommonFlags& common, Communicator& comm,
                              Logger& logger) {
  // Ranks may see different files while the sweep's are being written, and must agree on what they do.
  std::vector<int64_t> is_sweep = {IsSweepFolder(PosixFileSystem(), flags.run_path) ? 1 : 0};
  RETURN_IF_ERROR(AllreduceMax(comm, absl::MakeSpan(is_sweep)));
  if (is_sweep[0] != 0) return ReproduceSweep(flags, common, comm, logger);
  if (flags.samples) {
    return absl::InvalidArgumentError(
        absl::StrCat("--samples: ", flags.run_path, " is not the folder of a sweep: remove the option"));
  }
  ASSIGN_OR_RETURN(const RunVerdict verdict, ReproduceRun(flags, common, comm, logger));
  if (common.check) return kExitOk;
  if (comm.rank() == 0) PrintVerdict(flags.mode, common.json, verdict);
  return verdict.differs ? kExitDiffers : kExitOk;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::PrepareProcess();
  reprise::CommandLine command_line(
      "reproduce",
      "Re-executes a run and compares its records and digests. Prints PASS, or FAIL and the first difference.",
      "./reprise reproduce runs/first/run.h5 --mode regenerate --ranks 2");
  reprise::ReproduceFlags flags;
  command_line.Add("RUN", flags.run_path,
                   "A run.h5, or the folder of a sweep, whose table is computed again from its trials",
                   {.is_required = true});
  command_line.Add("--samples", flags.samples,
                   "Of a sweep: executes so many of its trials again, chosen by a draw; default: 2",
                   {.check = reprise::AtLeast(0)});
  command_line.Add(
      "--mode", flags.mode,
      "replay: uses the stored tokens or actions, and what growing networks reported, and recomputes the rest; "
      "regenerate: samples, and trains such networks, again",
      {.shows_default = true, .check = reprise::OneOf({"replay", "regenerate"})});
  command_line.AddRepeated("--model", flags.model_paths, "The model directory of a run that started from one");
  command_line.Add("--from-step", flags.from_step,
                   "Checks from this training step on, starting from the checkpoint before it if there is one",
                   {.check = reprise::AtLeast(1)});
  command_line.Add("--steps", flags.steps, "Checks this many training steps; default: all remaining ones",
                   {.check = reprise::AtLeast(1)});
  command_line.Add(
      "--init-from", flags.init_from,
      "The run that this one began with, as in train: RUN.h5 or RUN.h5@STEP, or the directory of adapters");
  command_line.AddRepeated("--data", flags.data_paths,
                           "The file of problems, the folder of CIFAR-10 or the file of stories of a run that read "
                           "one; of several, each trial of a sweep takes the one that it has read");
  command_line.AddRepeated("--held-out", flags.held_out_paths, "The file of held-out problems of a run that read one");
  command_line.Add("--process-command", flags.process_command,
                   "To regenerate a run with an external process: its command on this machine; the stored one is "
                   "printed and never executed");
  command_line.Add("--threads", flags.threads,
                   "Threads of each rank; default: 1; 0 = an equal share of the cores; as --set execution.threads=N",
                   {.check = reprise::AsKey("execution", "threads")});
  command_line.AddOverrides("a key of [execution]");
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  return reprise::RunProgram(command_line, [&](reprise::Communicator& comm, reprise::Logger& logger) {
    return reprise::Reproduce(flags, command_line.flags(), comm, logger);
  });
}
