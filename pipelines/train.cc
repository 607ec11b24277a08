// train: one run from a configuration to run.h5, in one execution or several.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/io/file_system.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/run_state.h"
#include "data/artifact/run_writer.h"
#include "models/olmoe/model_directory.h"
#include "pipelines/program/configuration.h"
#include "pipelines/program/program.h"
#include "pipelines/stored/reward_curve.h"
#include "pipelines/stored/stored_run.h"
#include "pipelines/stored/token_text.h"
#include "pipelines/training/execution_counts.h"
#include "pipelines/training/initial_weights.h"
#include "pipelines/training/reduction.h"
#include "pipelines/training/resume_plan.h"
#include "pipelines/training/resume_training.h"
#include "pipelines/training/run_files.h"
#include "pipelines/training/train_end.h"
#include "pipelines/training/train_observer.h"
#include "rl/config/unread_keys.h"
#include "rl/run/artifact_sink.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"
#include "rl/run/recovery.h"
#include "rl/run/step_number.h"
#include "rl/run/try_program.h"

namespace reprise {
namespace {

struct TrainFlags {
  std::string config_path, output, init_from;
  bool resume = false;
  int64_t stop_after_step = 0;
};

// Checks first that the directory is free or, with --resume, contains a run of this configuration.
absl::StatusOr<ResumePlan> Plan(const TrainFlags& flags, const rl::Config& config, const rl::RunParts& parts) {
  RETURN_IF_ERROR(CheckIsNoFile(flags.output));
  if (flags.resume) return PlanResume(PosixFileSystem(), flags.output, config, parts, flags.stop_after_step);
  ResumePlan plan = {.stage = RunStage::kNone, .config = config, .header = rl::HeaderOf(config, parts)};
  if (!PosixFileSystem().Stat(flags.output).ok()) return plan;
  // The files that this verb writes beside run.h5 also belong to a run, and must not be mixed with another's.
  RETURN_IF_ERROR(RunWriter::CheckFree(PosixFileSystem(), flags.output, {"model", "metrics.jsonl", "execution.jsonl"}));
  return plan;
}

// The state of rank 0 only.
struct Output {
  ResumedTraining run;
  std::unique_ptr<TrainObserver> observer;
  std::unique_ptr<rl::ArtifactSink> sink;
  std::string chat_template;  // of the initial model
};

absl::StatusOr<Output> StartOutput(const TrainFlags& flags, bool json, const ResumePlan& plan,
                                   const rl::RunParts& parts, int ranks, Logger& logger) {
  FileSystem& files = PosixFileSystem();
  Output output;
  ASSIGN_OR_RETURN(output.chat_template, models::ReadChatTemplate(plan.config.model.path));
  if (plan.stage == RunStage::kNone) {
    ASSIGN_OR_RETURN(RunWriter writer,
                     RunWriter::Create(files, flags.output, plan.header, rl::WriterOptionsOf(plan.config)));
    output.run.writer = std::make_unique<RunWriter>(std::move(writer));
    output.run.resume_point.extended_at = plan.config.run.extended_at;
  } else {
    ASSIGN_OR_RETURN(output.run, ResumeTraining(files, flags.output, plan, parts, logger));
  }
  const ResumePoint& resume_point = output.run.resume_point;
  ASSIGN_OR_RETURN(RunFiles run_files,
                   RunFiles::Create(files, flags.output, plan.config.warm_up.steps, output.run.progress, Seconds));
  const int threads = rl::ThreadsOf(plan.config.execution, RanksOnThisMachine());
  RETURN_IF_ERROR(run_files.DescribeExecution(ranks, threads, resume_point.committed, absl::Now()));
  output.observer = std::make_unique<TrainObserver>(plan.config, json, std::move(run_files), output.run.progress,
                                                    resume_point.state, TokenText::Of(*parts.tokenizer), logger);
  if (output.run.writer == nullptr) return output;
  output.sink = std::make_unique<rl::ArtifactSink>(
      plan.config, rl::RunOutput{files, flags.output, plan.header, *output.run.writer, Seconds,
                                 [observer = output.observer.get()](const rl::StepRecord& record) {
                                   return observer->Record(record);
                                 }});
  return output;
}

// The state of all ranks when the run starts or resumes.
struct Start {
  const rl::Config& config;
  const rl::RunParts& parts;
  ThreadPool& pool;
  const ResumePoint& resume_point;
  Output& output;  // on rank 0
  const std::atomic<bool>& interrupt;
};

struct Work {
  bool is_complete = false;  // the run's last step is done
  bool is_stopped = false;   // the step of --stop-after-step is done
  int64_t steps = 0;         // done, in the artifact's numbering
  ExecutionCounts counts;
};

// Trains, on every rank. A resumed run first re-executes the committed steps after the state.
absl::StatusOr<Work> DoWork(const TrainFlags& flags, const Start& start, Communicator& comm) {
  const rl::Config& config = start.config;
  const rl::RunParts& parts = start.parts;
  const ResumePoint& resume_point = start.resume_point;
  FileSystem& files = PosixFileSystem();
  ASSIGN_OR_RETURN(const std::vector<rl::StepRecord> records,
                   AgreeOk(comm, ReadPieces(files, flags.output, resume_point, config)));
  rl::RecoverySink sink(config, resume_point.committed, records, rl::TensorNamesOf(parts), start.output.sink.get(),
                        [&](const rl::StepRecord& record) { start.output.observer->Recall(record); });
  ASSIGN_OR_RETURN(const std::unique_ptr<rl::Execution> execution,
                   rl::Execution::Create({.config = config,
                                          .parts = parts,
                                          .comm = comm,
                                          .pool = start.pool,
                                          .sink = sink,
                                          .records = &records,
                                          .replay_until = resume_point.committed,
                                          .interrupt = &start.interrupt}));
  rl::Learner& learner = execution->learner();
  if (resume_point.state > 0) {
    ASSIGN_OR_RETURN(const rl::LearnerState state,
                     AgreeOk(comm, ReadState(files, flags.output, resume_point, config, parts)));
    learner.Restore(state);
  }
  if (flags.resume && !learner.is_over()) RETURN_IF_ERROR(AgreeOk(comm, rl::TryProgram(config, parts)));
  // A signal may have arrived before training started.
  std::vector<int64_t> interrupted = {start.interrupt.load() ? 1 : 0};
  RETURN_IF_ERROR(AllreduceMax(comm, absl::MakeSpan(interrupted)));
  if (interrupted[0] == 0) RETURN_IF_ERROR(learner.Run(flags.stop_after_step));
  Work work;
  const bool is_training = learner.phase() == rl::Phase::kTraining;
  work.is_complete = learner.is_over();
  work.is_stopped = is_training && flags.stop_after_step > 0 && learner.step() >= flags.stop_after_step;
  work.steps = rl::ArtifactStep(config, learner.phase(), learner.step());
  ASSIGN_OR_RETURN(work.counts, SumOverRanks(comm, start.pool.threads(), learner.counts(), execution->refills(),
                                             parts.process.get()));
  return work;
}

// Called on rank 0 only.
absl::Status End(const TrainFlags& flags, bool json, const rl::RunParts& parts, Work work, Output& output,
                 Logger& logger) {
  FileSystem& files = PosixFileSystem();
  if (output.run.writer != nullptr) {
    RETURN_IF_ERROR(output.run.writer->Flush());
    work.counts.segments = static_cast<int64_t>(output.run.writer->segments().size());
    work.counts.states = output.sink->states();
  }
  if (work.counts.process_restarts > 0) {
    logger.Warning(absl::StrCat("the process of process.command was restarted ", work.counts.process_restarts,
                                " times, on all ranks together"));
  }
  RETURN_IF_ERROR(output.observer->Finish(work.counts));
  if (!work.is_complete && !work.is_stopped) {
    return absl::UnavailableError(absl::StrCat("a signal stopped the run after step ", work.steps,
                                               " (warm-up included); ", "the same command with --resume continues it"));
  }
  for (const std::string& line : RewardCurve(output.observer->rewards())) logger.Info(line);
  RETURN_IF_ERROR(FinishRun(files, flags.output, parts, output.chat_template, output.run.writer.get(),
                            static_cast<int64_t>(output.observer->rewards().size()), json));
  // A run that stopped early keeps its state, because more steps may follow.
  return work.is_complete ? RetireStates(files, flags.output, 0) : absl::OkStatus();
}

// An existing run can be resumed even if it was started by a version that did not check for unread keys.
absl::Status CheckKeys(const TrainFlags& flags, const rl::ResolvedConfig& resolved, bool tells, Logger& logger) {
  absl::Status status = rl::CheckKeysAreRead(resolved.config);
  if (status.ok()) {
    const absl::StatusOr<std::vector<std::string>> warnings =
        rl::CheckRunIsLongEnough(resolved.config, resolved.origins);
    if (warnings.ok() && tells) {
      for (const std::string& warning : *warnings) logger.Warning(warning);
    }
    status = warnings.status();
  }
  if (!flags.resume || status.code() != absl::StatusCode::kInvalidArgument) return status;
  if (tells) logger.Warning(status.message());
  return absl::OkStatus();
}

// Must be called before the first matrix product.
absl::Status PrepareTraining(const TrainFlags& flags, const rl::RunConfig& run) {
  if (flags.resume && IsFast(run)) {
    return absl::FailedPreconditionError(
        "--resume: committed steps are re-executed, which run.reduction = \"fast\" cannot do bit for bit; start a new "
        "run");
  }
  return PrepareReduction(run);
}

absl::StatusOr<int> Train(const TrainFlags& flags, const CommonFlags& common, const std::atomic<bool>& interrupt,
                          Communicator& comm, Logger& logger) {
  const bool root = comm.rank() == 0;
  const bool tells = root && !common.check;
  const int ranks = common.ranks > 0 ? common.ranks : comm.size();
  ASSIGN_OR_RETURN(rl::ResolvedConfig resolved,
                   AgreeOk(comm, ReadConfiguration(flags.config_path, common.keys, ranks, tells ? &logger : nullptr)));
  rl::Config& config = resolved.config;
  RETURN_IF_ERROR(AgreeOk(comm, CheckKeys(flags, resolved, tells, logger)));
  RETURN_IF_ERROR(AgreeOk(comm, PrepareTraining(flags, config.run)));
  ASSIGN_OR_RETURN(const std::unique_ptr<ThreadPool> threads,
                   AgreeOk(comm, ThreadPool::Create(rl::ThreadsOf(config.execution, RanksOnThisMachine()))));
  ThreadPool& pool = *threads;
  ASSIGN_OR_RETURN(rl::RunParts parts, AgreeOk(comm, rl::PrepareRun(config, pool)));
  if (parts.process != nullptr) {
    parts.process->WatchOthers([&comm] { return comm.PeerHasFailed(); });
    parts.process->OnRestart([&logger](absl::string_view sentence) { logger.Warning(sentence); });
  }
  if (!flags.init_from.empty()) {
    RETURN_IF_ERROR(AgreeOk(comm, TakeInitialWeights(flags.init_from, config, pool, &parts)));
    RETURN_IF_ERROR(AgreeOnInitialWeights(comm, parts));
    if (tells && !flags.resume && config.warm_up.steps > 0) {
      logger.Info(absl::StrCat("the warm-up of ", config.warm_up.steps, config.warm_up.steps == 1 ? " step" : " steps",
                               " is done on the weights of ", flags.init_from,
                               " as well; --set warm_up.steps=0 skips it"));
    }
  }
  absl::StatusOr<ResumePlan> plan = ResumePlan();
  if (root) plan = Plan(flags, config, parts);
  RETURN_IF_ERROR(AgreeOk(comm, plan.status()));
  // A resumed run may not need the external process any more.
  if (!flags.resume) RETURN_IF_ERROR(AgreeOk(comm, rl::TryProgram(config, parts)));
  if (common.check) return 0;

  absl::StatusOr<Output> started = Output();
  if (root) started = StartOutput(flags, common.json, *plan, parts, comm.size(), logger);
  ASSIGN_OR_RETURN(Output output, AgreeOk(comm, std::move(started)));
  if (root && !flags.resume) {  // a resumed run has already logged them
    for (const std::string& warning : parts.warnings) logger.Warning(warning);
  }
  ASSIGN_OR_RETURN(const std::string text, BroadcastBytes(comm, 0, EncodeResumePoint(output.run.resume_point)));
  const ResumePoint resume_point = DecodeResumePoint(text);
  config.run.extended_at = resume_point.extended_at;
  ASSIGN_OR_RETURN(const Work work, DoWork(flags, {config, parts, pool, resume_point, output, interrupt}, comm));
  RETURN_IF_ERROR(AgreeOk(comm, root ? End(flags, common.json, parts, work, output, logger) : absl::OkStatus()));
  return kExitOk;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::PrepareProcess();
  reprise::CommandLine command_line("train",
                                    "Trains a model by reinforcement learning and records everything in DIR/run.h5.",
                                    "./reprise train configs/quickstart.toml --output runs/first --set run.steps=20");
  reprise::TrainFlags flags;
  command_line.Add("CONFIG", flags.config_path, "The configuration, a TOML file", {.is_required = true});
  command_line.Add("--output", flags.output, "The run's directory; without --resume it must not contain a run",
                   {.is_required = true, .check = reprise::NotEmpty()});
  command_line.Add("--resume", flags.resume,
                   "Resumes the run in DIR after its last committed step, on any number of ranks; a finished run "
                   "gets more steps if run.steps is raised");
  command_line.Add("--init-from", flags.init_from,
                   "Starts from the final weights of a run, or those of its checkpoint of a training step: RUN.h5 or "
                   "RUN.h5@STEP, or the directory of an unfinished run. A warm-up is done on them again: --set "
                   "warm_up.steps=0 skips it");
  command_line.Add("--stop-after-step", flags.stop_after_step, "Ends the run after this training step",
                   {.check = reprise::AtLeast(1)});
  command_line.AddOverrides();
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  while (flags.output.size() > 1 && flags.output.back() == '/') flags.output.pop_back();
  const std::atomic<bool>& interrupt = reprise::InterruptBySignals();
  return reprise::RunProgram(command_line, [&](reprise::Communicator& comm, reprise::Logger& logger) {
    return reprise::Train(flags, command_line.flags(), interrupt, comm, logger);
  });
}
