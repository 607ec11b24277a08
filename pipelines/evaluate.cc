// evaluate: measures how well a run's weights, or a model, solve held-out problems.

#include "rl/evaluation/evaluate.h"

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/parallel/activity.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/evaluation_target.h"
#include "pipelines/program/long_evaluation.h"
#include "pipelines/program/program.h"
#include "pipelines/watchdog/phase_times.h"
#include "pipelines/watchdog/watch_reader.h"
#include "rl/config/evaluation_check.h"
#include "rl/config/workload_traits.h"
#include "rl/evaluation/scores/scores.h"
#include "rl/learner/step_gather.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_streams.h"
#include "rl/record/divergence.h"
#include "rl/workloads/completions/options.h"
#include "rl/workloads/completions/prepared_completions.h"

namespace reprise {
namespace {

using NamedValues = std::vector<std::pair<std::string, double>>;

struct EvaluationReport {
  int64_t step = 0, problems = 0, samples = 0;
  bool held_out = false;
  std::string remark = {};  // on that
  NamedValues metrics;
  std::string transcript = {};  // of one of the problems; may be empty
  bool has_accuracy = true;     // whether it is defined which answers are correct
};

// Adds a line for each metric of the samples that the evaluation lacks, because nothing could be scored for it.
void PrintUnscored(const EvaluationReport& report) {
  const std::map<std::string, double> values(report.metrics.begin(), report.metrics.end());
  for (const std::string& name : rl::ScoreMetricNames(report.samples, report.has_accuracy)) {
    if (!values.contains(name)) PrintText(absl::StrFormat("  %-30s nothing could be scored\n", name));
  }
}

void PrintAsJson(const EvaluationReport& report) {
  nlohmann::ordered_json line = {{"event", "evaluation"},
                                 {"step", report.step},
                                 {"problems", report.problems},
                                 {"samples", report.samples},
                                 {"held_out", report.held_out}};
  if (!report.remark.empty()) line["remark"] = report.remark;
  for (const auto& [name, value] : report.metrics) line[name] = value;
  if (!report.transcript.empty()) line["transcript"] = report.transcript;
  PrintJsonLine(line);
}

void PrintAsTable(const EvaluationReport& report) {
  const std::string whose = report.step > 0 ? absl::StrCat("the weights of step ", report.step) : "the model";
  PrintText(absl::StrCat(report.problems, report.held_out ? " held-out" : "", " problems, ", report.samples,
                         " samples of each, by ", whose, "\n"));
  if (!report.remark.empty()) PrintText(absl::StrCat("  (", Printable(report.remark), ")\n"));
  const std::map<std::string, double> values(report.metrics.begin(), report.metrics.end());
  // The ends of an interval are in the line of their metric; "eval_pass@16" is between "eval_pass@1" and its ends.
  const auto is_end = [&](absl::string_view name) {
    return (absl::ConsumeSuffix(&name, "_high") || absl::ConsumeSuffix(&name, "_low")) &&
           values.contains(std::string(name));
  };
  for (const auto& [name, value] : report.metrics) {
    if (is_end(name)) continue;
    std::string line = absl::StrFormat("  %-30s %8.4f", name, value);
    const auto low = values.find(name + "_low"), high = values.find(name + "_high");
    if (low != values.end() && high != values.end()) {
      absl::StrAppendFormat(&line, "   95%%: %.4f to %.4f", low->second, high->second);
    }
    PrintText(line + "\n");
  }
  PrintUnscored(report);
  if (!report.transcript.empty()) PrintText("an episode: " + report.transcript);
}

// Returns DataLoss unless the replies that were used are exactly the run's stored ones. Collective.
absl::Status CheckReplies(Communicator& comm, const std::vector<rl::EvaluationReply>& stored,
                          std::vector<rl::EvaluationReply> used) {
  const auto tables_of = [](std::vector<rl::EvaluationReply> replies) {
    rl::StepRecord record;
    rl::GetEvaluationReplies(record) = std::move(replies);
    return rl::CompletionTables(record, {.evaluates_outside = true});
  };
  const rl::RecordSchema schema = rl::CompletionSchema({.evaluates_outside = true});
  rl::StepShare share = {tables_of(std::move(used)), {}, {}};
  RETURN_IF_ERROR(rl::GatherStep(comm, schema, &share));
  rl::StepTables expected, actual;
  expected.tables = tables_of(stored);
  actual.tables = std::move(share.tables);
  const bool agrees = comm.rank() != 0 || !rl::FirstDivergence(schema, expected, actual, {});
  return AgreeOk(comm, agrees ? absl::OkStatus()
                              : absl::DataLossError("the run's stored replies do not match the completions of its "
                                                    "weights; --process-command CMD calls the process itself"));
}

// Returns Unavailable unless all ranks have read the weights of the same step: a run may continue meanwhile.
// Collective.
absl::Status AgreeOnStep(Communicator& comm, int64_t step) {
  std::vector<int64_t> ends = {step, -step};
  RETURN_IF_ERROR(AllreduceMax(comm, absl::MakeSpan(ends)));
  if (ends[0] == -ends[1]) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the run continued while the ranks read it: some have the weights of "
                   "step ",
                   -ends[1], ", some those of step ", ends[0], "; try again, or give a step by --step"));
}

void Print(const EvaluationReport& report, bool json) { json ? PrintAsJson(report) : PrintAsTable(report); }

// Tells the user the warnings. The external program, if there is one, is not waited for when another rank has failed.
void Begin(const rl::RunParts& parts, Communicator& comm, Watchdog* watchdog, Logger& logger) {
  if (watchdog != nullptr) watchdog->Enter({.kind = RunPhase::kEvaluate});
  for (const std::string& warning : parts.warnings) {
    if (comm.rank() == 0) logger.Warning(warning);
  }
  rl::ProcessClient* const process = parts.workload->process();
  if (process == nullptr) return;
  process->WatchOthers([&comm] {
    MarkActivity();  // its client limits the wait for a reply
    return comm.PeerHasFailed();
  });
}

// Starts the watchdog; null for a check. Collective.
absl::StatusOr<std::unique_ptr<Watchdog>> Watch(const EvaluationTarget& target, const CommonFlags& common,
                                                Communicator& comm) {
  if (common.check) return std::unique_ptr<Watchdog>();
  const std::string& read = target.is_run ? target.run_path : target.config.model.path;
  return WatchReader(target.config.execution, "evaluation", read, comm);
}

absl::StatusOr<int> EvaluateCompletions(const EvaluationRequest& request, const EvaluationTarget& target,
                                        const CommonFlags& common, Communicator& comm, Logger& logger) {
  const rl::Config& config = target.config;
  ASSIGN_OR_RETURN(const std::unique_ptr<Watchdog> watchdog, Watch(target, common, comm));
  ASSIGN_OR_RETURN(const EvaluatedModel evaluated,
                   AgreeOk(comm, LoadEvaluated(request, target, comm.ranks_on_this_machine())));
  const rl::PreparedCompletions& completions = rl::GetPreparedCompletions(evaluated.parts);
  ASSIGN_OR_RETURN(
      const rl::CompletionsDeps parts,
      AgreeOk(comm, completions.MakeDeps({.config = config, .comm = comm, .pool = *evaluated.parts.pool})));
  if (common.check) return kExitOk;
  RETURN_IF_ERROR(AgreeOnStep(comm, evaluated.step));
  Begin(evaluated.parts, comm, watchdog.get(), logger);

  ASSIGN_OR_RETURN(
      rl::Evaluation evaluation,
      rl::Evaluate({parts.model, parts.tokenizer, parts.rewards, parts.evaluation_turns, comm, parts.pool,
                    evaluated.stored ? &*evaluated.stored : nullptr},
                   evaluated.tasks,
                   rl::MakeEvaluationOptions(config, parts.tokenizer, parts.turns.rules, evaluated.step, comm.size())));
  if (evaluated.stored) RETURN_IF_ERROR(CheckReplies(comm, *evaluated.stored, std::move(evaluation.replies)));
  if (comm.rank() != 0) return kExitOk;
  const int64_t samples = config.evaluation.num_generations;
  const bool has_accuracy = rl::DefinesAccuracy(config);
  const EvaluationReport report = {.step = evaluated.step,
                                   .problems = static_cast<int64_t>(evaluated.tasks.size()),
                                   .samples = samples,
                                   .held_out = evaluated.held_out,
                                   .remark = evaluated.remark,
                                   .metrics = rl::ScoreMetrics(evaluation.score_P, samples, has_accuracy),
                                   .has_accuracy = has_accuracy};
  Print(report, common.json);
  return kExitOk;
}

// Evaluates the policy of another workload as its training does.
absl::StatusOr<int> EvaluatePolicy(const EvaluationRequest& request, const EvaluationTarget& target,
                                   const CommonFlags& common, Communicator& comm, Logger& logger) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Watchdog> watchdog, Watch(target, common, comm));
  ASSIGN_OR_RETURN(const EvaluatedModel evaluated,
                   AgreeOk(comm, LoadPolicy(request, target, comm.ranks_on_this_machine())));
  if (common.check) return kExitOk;
  const rl::RunParts& parts = evaluated.parts;
  const int64_t step = evaluated.step;
  RETURN_IF_ERROR(AgreeOnStep(comm, step));
  Begin(parts, comm, watchdog.get(), logger);
  ASSIGN_OR_RETURN(const std::unique_ptr<rl::Workload> workload,
                   parts.workload->Start({.config = target.config, .comm = comm, .pool = *parts.pool}));
  ASSIGN_OR_RETURN(const rl::Metrics metrics, workload->Evaluate(step, step));
  ASSIGN_OR_RETURN(const std::string transcript, AgreeOk(comm, workload->Transcript(step)));
  const rl::EvaluationConfig& evaluation = target.config.evaluation;
  if (comm.rank() == 0) {
    Print({.step = step,
           .problems = evaluation.num_prompts,
           .samples = evaluation.num_generations,
           .held_out = evaluated.held_out,
           .remark = evaluated.remark,
           .metrics = metrics,
           .transcript = transcript},
          common.json);
  }
  return kExitOk;
}

absl::StatusOr<int> EvaluateVerb(const EvaluationRequest& request, const CommonFlags& common, Communicator& comm,
                                 Logger& logger) {
  const int ranks = common.ranks > 0 ? common.ranks : comm.size();
  ASSIGN_OR_RETURN(const EvaluationTarget target, AgreeOk(comm, ResolveTarget(request, ranks)));
  const std::string note = NoteOfLongEvaluation(target.config.evaluation);
  if (!note.empty() && !common.check) logger.Info(note);
  if (!rl::Traits(target.config).has_completions) return EvaluatePolicy(request, target, common, comm, logger);
  return EvaluateCompletions(request, target, common, comm, logger);
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::PrepareProcess();
  reprise::CommandLine command_line(
      "evaluate",
      "Measures how well a run's weights, or a model, solve held-out problems: of a language model "
      "greedy accuracy, pass@k and mean@k with 95% confidence intervals, of another "
      "policy the metrics of its own evaluation.",
      "./reprise evaluate runs/first/run.h5 --samples 16");
  reprise::EvaluationRequest request;
  command_line.Add(
      "TARGET", request.target,
      "A run.h5, a run's directory, also of an unfinished run, or the model directory of a run, or with --config any "
      "Hugging Face directory of a language model",
      {.is_required = true});
  command_line.Add("--config", request.config_path,
                   "For a model directory: the configuration that names the problems; default: that of the "
                   "run which wrote the directory");
  command_line.Add("--samples", request.samples,
                   "Samples of each problem, at most 65536; default: evaluation.num_generations",
                   {.check = reprise::AsKey("evaluation", "num_generations")});
  command_line.Add("--step", request.step.text,
                   "For a run: the training step of the checkpoint, or `best`; default: the last one",
                   {.check = reprise::StepOrBest()});
  command_line.Add("--model", request.model_path, "The model directory of a run that started from one");
  command_line.Add("--data", request.data_path,
                   "The file of problems, the folder of CIFAR-10 or the file of stories of a run that read one");
  command_line.Add("--process-command", request.process_command,
                   "For a run with an external process: its command on this machine; it is called even if the run has "
                   "stored its replies to this evaluation");
  command_line.Add("--held-out", request.held_out_path, "A file of held-out problems, instead of the run's own");
  command_line.AddOverrides("a key of [evaluation] or [execution], with --config any key");
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  request.keys = command_line.flags().keys;
  while (request.target.size() > 1 && request.target.back() == '/') request.target.pop_back();
  return reprise::RunProgram(command_line, [&](reprise::Communicator& comm, reprise::Logger& logger) {
    return reprise::EvaluateVerb(request, command_line.flags(), comm, logger);
  });
}
