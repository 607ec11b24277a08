// inspect: prints the contents of a run file.

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/io/file_system.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/program.h"
#include "pipelines/stored/describe_run.h"
#include "pipelines/stored/describe_step.h"
#include "pipelines/stored/describe_tables.h"
#include "pipelines/stored/run_folder.h"
#include "pipelines/stored/stored_run.h"
#include "pipelines/stored/token_text.h"
#include "pipelines/training/reduction.h"
#include "rl/config/workload_traits.h"
#include "rl/record/completions/record_streams.h"
#include "rl/run/workloads.h"

namespace reprise {
namespace {

struct InspectFlags {
  std::string run_path, model_path, phase = "training";
  std::optional<int64_t> step, completion;
};

void Tell(bool json, const nlohmann::ordered_json& object, const std::string& text) {
  if (json) {
    PrintJsonLine(object);
  } else {
    PrintText(text);
  }
}

// For a run whose streams this version does not support, only the header is printed.
absl::StatusOr<int> InspectRun(const InspectFlags& flags, const StoredRun& run, const absl::Status& interpreted,
                               bool json, Logger& logger) {
  std::string steps;
  if (interpreted.ok() && !json) {
    ASSIGN_OR_RETURN(const TokenText text, TokenText::For(run, flags.model_path));
    ASSIGN_OR_RETURN(const std::string described, DescribeSteps(run, text));
    steps = absl::StrCat("\n", described);
  }
  Tell(json, RunJson(run, interpreted.ok()), DescribeFile(run) + steps);
  if (interpreted.ok() && IsFast(run.config.run)) logger.Warning(ReductionNote(run.config.run));
  if (!interpreted.ok()) logger.Warning(absl::StrCat("its steps cannot be shown: ", interpreted.message()));
  return kExitOk;
}

// Returns the run's configuration with the model that --model names, which must be the run's.
absl::StatusOr<rl::Config> WithModel(const InspectFlags& flags, const StoredRun& run) {
  rl::Config config = run.config;
  if (flags.model_path.empty() || config.model.path.empty()) return config;
  RETURN_IF_ERROR(TokenText::For(run, flags.model_path).status());
  config.model.path = flags.model_path;
  return config;
}

absl::StatusOr<const rl::StepTables*> FindStep(const InspectFlags& flags, const StoredRun& run) {
  const rl::Phase phase = flags.phase == "training" ? rl::Phase::kTraining : rl::Phase::kSft;
  if (const rl::StepTables* const found = rl::FindStep(run.steps, phase, *flags.step)) return found;
  int64_t last = 0;
  for (const rl::StepTables& step : run.steps) {
    if (step.phase == phase) last = step.step;
  }
  return absl::NotFoundError(absl::StrCat(flags.run_path, ": the run holds no ", flags.phase, " step ", *flags.step,
                                          last == 0 ? "; it has none" : absl::StrCat("; the last one is ", last)));
}

// Lists the runs within a directory that is none itself. Returns `no_run`, the error of reading it as a run, if there
// are none, or if a step was asked for.
absl::StatusOr<int> InspectFolder(const InspectFlags& flags, const absl::Status& no_run, bool json) {
  const absl::StatusOr<std::vector<FolderEntry>> runs = RunsWithin(PosixFileSystem(), flags.run_path);
  if (!runs.ok() || runs->empty()) return no_run;
  const std::string first = JoinPath(flags.run_path, runs->front().name);
  if (flags.step) return absl::NotFoundError(absl::StrCat(no_run.message(), ", but it has some within: ", first));
  std::string text = absl::StrCat(Printable(flags.run_path), " is no run, but has these within:\n");
  for (const FolderEntry& run : *runs) {
    const std::string path = JoinPath(flags.run_path, run.name);
    if (json) PrintJsonLine({{"event", "run"}, {"path", path}, {"state", std::string(run.state)}});
    absl::StrAppendFormat(&text, "  %-10s  %s\n", run.state, Printable(path));
  }
  if (!json) PrintText(absl::StrCat(text, "./reprise inspect ", Printable(first), " shows the first\n"));
  return kExitOk;
}

absl::StatusOr<int> Inspect(const InspectFlags& flags, bool json, Logger& logger) {
  absl::StatusOr<StoredRun> opened = OpenUninterpreted(flags.run_path);
  if (absl::IsNotFound(opened.status())) return InspectFolder(flags, opened.status(), json);
  ASSIGN_OR_RETURN(StoredRun run, std::move(opened));
  const absl::Status interpreted = Interpret(flags.run_path, &run);
  if (!flags.step) return InspectRun(flags, run, interpreted, json, logger);
  RETURN_IF_ERROR(interpreted);
  ASSIGN_OR_RETURN(const rl::StepTables* const step, FindStep(flags, run));
  if (!rl::Traits(run.config).has_completions) {
    if (flags.completion) {
      return absl::InvalidArgumentError(absl::StrCat("--completion: run.workload ", run.config.run.workload,
                                                     " has no completions; remove the option"));
    }
    std::string text;
    if (const auto describe = rl::KindOf(run.config).describe_step; describe != nullptr && !json) {
      ASSIGN_OR_RETURN(const rl::Config config, WithModel(flags, run));
      ASSIGN_OR_RETURN(text, describe(config, *step));
    }
    Tell(json, TablesJson(*step), absl::StrCat(text, DescribeTables(*step)));
    return kExitOk;
  }
  ASSIGN_OR_RETURN(const rl::StepRecord record, rl::FromTables(*step, rl::MakeRecordForm(run.config)));
  ASSIGN_OR_RETURN(const TokenText text, TokenText::For(run, flags.model_path));
  if (!text.has_tokenizer())
    logger.Info("completions are shown as token ids; --model DIR with the run's model shows their text");
  if (!flags.completion) {
    Tell(json, StepJson(record, text), DescribeStep(record, text));
    return kExitOk;
  }
  const int64_t completions = static_cast<int64_t>(record.episode_N.size());
  if (*flags.completion >= completions) {
    return absl::NotFoundError(absl::StrCat(flags.run_path, ": step ", *flags.step, " has ", completions,
                                            " completions, from 0 on; there is no ", *flags.completion));
  }
  Tell(json, CompletionJson(record, *flags.completion, text), DescribeCompletion(record, *flags.completion, text));
  return kExitOk;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::PrepareProcess();
  reprise::CommandLine command_line(
      "inspect",
      "Shows the contents of a run: digests, configuration, streams, rewards and samples; a step; or one completion's "
      "tokens.",
      "./reprise inspect runs/first/run.h5 --step 12 --completion 3");
  reprise::InspectFlags flags;
  command_line.Add("RUN", flags.run_path,
                   "A run.h5, or a run's directory, also of an unfinished run; of a folder of runs their names",
                   {.is_required = true});
  command_line.Add("--step", flags.step, "Shows this step", {.check = reprise::AtLeast(1)});
  command_line.Add("--completion", flags.completion, "Shows this completion of the step, counted from 0",
                   {.check = reprise::AtLeast(0), .needs = "--step"});
  command_line.Add("--phase", flags.phase, "Which steps --step counts: training or sft",
                   {.shows_default = true, .check = reprise::OneOf({"training", "sft"})});
  command_line.Add("--model", flags.model_path,
                   "The model directory of a run that started from one, for its tokenizer");
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  return reprise::RunOnOneRank(command_line, [&](reprise::Logger& logger) {
    return reprise::Inspect(flags, command_line.flags().json, logger);
  });
}
