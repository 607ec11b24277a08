#include "pipelines/training/train_run.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/io/atomic_file.h"
#include "core/io/directory_entry.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/parallel/activity.h"
#include "core/status/status_macros.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_state.h"
#include "data/artifact/run_writer.h"
#include "models/olmoe/model_directory.h"
#include "models/olmoe/peft_directory.h"
#include "pipelines/program/program.h"
#include "pipelines/stored/describe_run.h"
#include "pipelines/stored/held_out_of.h"
#include "pipelines/stored/model_task.h"
#include "pipelines/stored/of_sweep.h"
#include "pipelines/stored/stored_run.h"
#include "pipelines/stored/token_text.h"
#include "pipelines/training/execution_counts.h"
#include "pipelines/training/initial_weights.h"
#include "pipelines/training/interruption.h"
#include "pipelines/training/reduction.h"
#include "pipelines/training/resume_plan.h"
#include "pipelines/training/resume_training.h"
#include "pipelines/training/run_files.h"
#include "pipelines/training/train_observer.h"
#include "pipelines/watchdog/heartbeat.h"
#include "pipelines/watchdog/watchdog.h"
#include "rl/config/unread_keys.h"
#include "rl/config/workload_traits.h"
#include "rl/record/step_tables.h"
#include "rl/run/artifact_sink.h"
#include "rl/run/early_end.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"
#include "rl/run/step_number.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise {
namespace {

absl::StatusOr<RunDigests> FinishArtifact(FileSystem& files, const std::string& directory, RunWriter* writer) {
  if (writer != nullptr) return writer->Finish();
  ASSIGN_OR_RETURN(const RunReader run, RunReader::Open(files, JoinPath(directory, "run.h5")));
  return RunDigests{run.run_digest_hex(), run.file_sha256_hex()};
}

// Removes the files of an export that was killed, which lacks config.json because that is written last. Other files are
// kept.
absl::Status RemovePartOfModel(FileSystem& files, const std::string& model) {
  for (const absl::string_view name : models::kAdapterFiles) {
    const std::string path = JoinPath(JoinPath(model, models::kAdapterDirectory), name);
    ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
    if (exists) RETURN_IF_ERROR(files.Unlink(path));
  }
  const absl::StatusOr<std::vector<std::string>> names = files.List(model);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    const absl::string_view final_name = FinalName(name);
    const bool is_ours = final_name == rl::kModelTaskFile ||
                         std::find(std::begin(models::kExportedFiles), std::end(models::kExportedFiles), final_name) !=
                             std::end(models::kExportedFiles);
    if (is_ours) RETURN_IF_ERROR(files.Unlink(JoinPath(model, name)));
  }
  return absl::OkStatus();
}

absl::Status Export(const rl::Config& config, FileSystem& files, const std::string& model, const rl::RunParts& parts,
                    const BaseModel& base) {
  ASSIGN_OR_RETURN(const bool is_whole, Exists(files, JoinPath(model, "config.json")));
  if (is_whole) return absl::OkStatus();
  RETURN_IF_ERROR(CheckIsNoLink(model));
  if (config.lora.r > 0) RETURN_IF_ERROR(rl::RequireUnchangedModel(config.model, parts.external_files));
  RETURN_IF_ERROR(RemovePartOfModel(files, model));
  absl::Status exported = WriteModelTask(files, model, rl::HeaderOf(config, parts), base.trainings);
  if (exported.ok()) exported = parts.workload->Export(files, model);
  if (!absl::IsNotFound(exported) && !absl::IsAlreadyExists(exported)) return exported;
  // Files may appear concurrently: another process that resumed the finished run exports the same model.
  ASSIGN_OR_RETURN(const bool is_whole_now, Exists(files, JoinPath(model, "config.json")));
  return is_whole_now ? absl::OkStatus() : exported;
}

class Training {
 public:
  Training(const TrainRequest& request, Communicator& comm, Logger& logger)
      : request_(request),
        is_root_(comm.rank() == 0),
        comm_(comm),
        traffic_before_(comm),
        logger_(logger),
        files_(PosixFileSystem()),
        config_(request.config.config) {}

  absl::StatusOr<std::optional<TrainResult>> Run();

 private:
  absl::Status CheckKeys();
  absl::Status TakeWeights();
  absl::Status CheckFiles() const;
  absl::StatusOr<ResumePlan> Plan() const;
  bool HoldsOut() const;
  void WarnOfEarlierStop() const;
  void LogIfFinished() const;
  absl::Status Prepare();
  absl::Status StartOutput();
  absl::Status Start();
  absl::Status Train();
  int64_t StopAfterStep() const;
  absl::Status Steps(rl::Learner& learner);
  absl::StatusOr<TrainResult> End();
  void Enter(RunPhase::Kind phase) {
    if (watchdog_ != nullptr) watchdog_->Enter({.kind = phase});
  }

  const TrainRequest& request_;
  const bool is_root_;
  Communicator& comm_;
  const TrafficBefore traffic_before_;
  Logger& logger_;
  FileSystem& files_;
  rl::Config config_;
  rl::RunParts parts_;
  BaseModel base_;

  // On rank 0 only.
  ResumePlan plan_;
  ResumedTraining run_;
  std::unique_ptr<TrainObserver> observer_;
  std::unique_ptr<rl::ArtifactSink> sink_;  // null where the run is finished

  ResumePoint resume_point_;
  ExecutionCounts counts_;
  bool is_complete_ = false;  // the run's last step is done
  bool is_stopped_ = false;   // the step of stop_after_step is done
  int64_t steps_ = 0;         // done, in the artifact's numbering

  std::unique_ptr<Watchdog> watchdog_;  // null: none. It must be the first member to be destroyed
};

absl::StatusOr<std::optional<TrainResult>> Training::Run() {
  if (config_.execution.watchdog && !request_.check) {
    const WatchedWork work = {.remedy = request_.remedy};
    ASSIGN_OR_RETURN(watchdog_, AgreeOk(comm_, Watchdog::Start(comm_, config_.execution.watchdog_seconds, work)));
  }
  RETURN_IF_ERROR(Prepare());
  if (request_.check) return std::nullopt;
  RETURN_IF_ERROR(Start());
  RETURN_IF_ERROR(Train());
  if (is_root_) return AgreeOk(comm_, absl::StatusOr<std::optional<TrainResult>>(End()));
  RETURN_IF_ERROR(AgreeOk(comm_, absl::OkStatus()));
  return std::nullopt;
}

absl::Status Training::CheckKeys() {
  RETURN_IF_ERROR(rl::CheckKeysAreRead(config_));
  ASSIGN_OR_RETURN(const std::vector<std::string> warnings, rl::CheckRunIsLongEnough(config_, request_.config.origins));
  for (const std::string& warning : warnings) {
    if (is_root_ && !request_.check) logger_.Warning(warning);
  }
  return rl::CheckShapeKeys(config_.model, request_.config.origins);
}

absl::Status Training::TakeWeights() {
  if (request_.init_from.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(AgreeOk(comm_, TakeInitialWeights(request_.init_from, config_, &parts_)));
  RETURN_IF_ERROR(AgreeOnInitialWeights(comm_, parts_));
  const int64_t sft = config_.sft.steps;
  if (is_root_ && !request_.check && !request_.resume && sft > 0) {
    logger_.Info(absl::StrCat("the SFT phase of ", sft, sft == 1 ? " step" : " steps", " is done on the weights of ",
                              request_.init_from, " as well; --set sft.steps=0 skips it"));
  }
  return absl::OkStatus();
}

// FailedPrecondition, naming the file, unless the run reads the files that it must.
absl::Status Training::CheckFiles() const {
  if (request_.files.empty()) return absl::OkStatus();
  RunHeader header = rl::HeaderOf(config_, parts_);
  Sort(header);
  const auto [mine, wanted] = std::mismatch(header.external_files.begin(), header.external_files.end(),
                                            request_.files.begin(), request_.files.end());
  if (mine == header.external_files.end() && wanted == request_.files.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(mine == header.external_files.end() ? wanted->name : mine->name,
                   " is another file than when the sweep began: restore it, and the same command executes the trial"));
}

// Checks first that the directory is free or, when resuming, contains a run of this configuration.
absl::StatusOr<ResumePlan> Training::Plan() const {
  RETURN_IF_ERROR(CheckFiles());
  RETURN_IF_ERROR(CheckIsNoFile(request_.output));
  RETURN_IF_ERROR(CheckIsNoLink(JoinPath(request_.output, "watchdog")));
  if (IsSweepFolder(files_, request_.output)) {
    return absl::InvalidArgumentError(absl::StrCat(request_.output,
                                                   " is the folder of a sweep, whose runs are in trials: "
                                                   "choose another --output"));
  }
  if (request_.resume) return PlanResume(files_, request_.output, config_, parts_, request_.stop_after_step);
  ResumePlan plan = {.stage = RunStage::kNone, .config = config_, .header = rl::HeaderOf(config_, parts_)};
  if (!files_.Stat(request_.output).ok()) return plan;
  // The files that training writes beside run.h5 also belong to a run, and must not be mixed with another's.
  RETURN_IF_ERROR(
      RunWriter::CheckFree(files_, request_.output, {"model", "metrics.jsonl", "execution.jsonl", "config.json"}));
  return plan;
}

// Called on rank 0 only.
void Training::WarnOfEarlierStop() const {
  const int64_t last = plan_.last_step - plan_.config.sft.steps;
  const bool is_not_extended = plan_.is_done && plan_.config.run.steps < config_.run.steps;
  if (request_.stop_after_step == 0 || request_.stop_after_step > last) return;
  if (request_.stop_after_step == last && !is_not_extended) return;
  logger_.Warning(absl::StrCat("--stop-after-step ", request_.stop_after_step, ": the run has step ", last,
                               " already, and no step is taken back, so that none is made; ",
                               is_not_extended ? "the run is not extended; " : "",
                               "a later step, or none, continues the run"));
}

// Called on rank 0 only.
void Training::LogIfFinished() const {
  WarnOfEarlierStop();
  if (!plan_.is_complete) return;
  const bool can_be_extended = !rl::MayEndEarly(plan_.config);  // or its evaluations may have ended it
  logger_.Info(absl::StrCat("the run in ", request_.output, " is finished (run.steps = ", plan_.config.run.steps,
                            "), and nothing is left to train",
                            can_be_extended ? "; a greater run.steps adds steps" : ""));
}

// Everything that fails before the directory is changed.
absl::Status Training::Prepare() {
  RETURN_IF_ERROR(AgreeOk(comm_, CheckKeys()));
  if (request_.resume && IsFast(config_.run)) {
    return absl::FailedPreconditionError(
        "--resume: committed steps are re-executed, which run.reduction = \"fast\" cannot do bit for bit; start a new "
        "run");
  }
  RETURN_IF_ERROR(AgreeOk(comm_, PrepareReduction(config_.run)));  // before the first matrix product
  ASSIGN_OR_RETURN(parts_, AgreeOk(comm_, rl::PrepareRun(config_, comm_.ranks_on_this_machine())));
  if (rl::ProcessClient* const process = parts_.workload->process()) {
    process->WatchOthers([this] {
      MarkActivity();  // its client limits the wait for a reply
      return comm_.PeerHasFailed();
    });
    process->OnRestart([this](absl::string_view sentence) { logger_.Warning(sentence); });
  }
  RETURN_IF_ERROR(TakeWeights());
  ASSIGN_OR_RETURN(base_, AgreeOk(comm_, JudgeBaseModel(config_, &parts_)));
  absl::StatusOr<ResumePlan> plan = ResumePlan();
  if (is_root_) plan = Plan();
  ASSIGN_OR_RETURN(plan_, AgreeOk(comm_, std::move(plan)));
  if (is_root_ && !request_.check) LogIfFinished();
  // A resumed run may not need the external process any more.
  return request_.resume ? absl::OkStatus() : AgreeOk(comm_, parts_.workload->ProbeProcess(config_));
}

// Whether the problems of evaluations are known to be held out, by the run and by all that trained its first weights.
bool Training::HoldsOut() const {
  return rl::Traits(config_).holds_out(config_) && base_.why_not_held_out.empty() && request_.init_from.empty();
}

// Called on rank 0 only.
absl::Status Training::StartOutput() {
  if (plan_.stage == RunStage::kNone) {
    ASSIGN_OR_RETURN(RunWriter writer,
                     RunWriter::Create(files_, request_.output, plan_.header, rl::MakeRunWriterOptions(plan_.config)));
    run_.writer = std::make_unique<RunWriter>(std::move(writer));
    run_.resume_point.steps = plan_.config.run.steps;
    run_.resume_point.extended_at = plan_.config.run.extended_at;
  } else {
    ASSIGN_OR_RETURN(run_, ResumeTraining(files_, request_.output, plan_, parts_, logger_));
  }
  const ResumePoint& resume_point = run_.resume_point;
  ASSIGN_OR_RETURN(RunFiles run_files,
                   RunFiles::Create(files_, request_.output, config_.sft.steps, run_.progress, Seconds));
  RETURN_IF_ERROR(
      run_files.DescribeExecution(comm_.size(), parts_.pool->threads(), resume_point.committed, absl::Now()));
  observer_ = std::make_unique<TrainObserver>(config_, ShownSteps{.as_json = request_.json, .are_held_out = HoldsOut()},
                                              std::move(run_files), run_.progress, resume_point.state,
                                              TokenText::Of(parts_.workload->text_tokenizer()), logger_);
  if (run_.writer == nullptr) return absl::OkStatus();
  sink_ = std::make_unique<rl::ArtifactSink>(
      plan_.config, rl::RunOutput{files_, request_.output, plan_.header, *run_.writer, Seconds,
                                  [this](const rl::StepTables& step) { return observer_->Record(step); }});
  return absl::OkStatus();
}

absl::Status Training::Start() {
  RETURN_IF_ERROR(AgreeOk(comm_, is_root_ ? StartOutput() : absl::OkStatus()));
  if (watchdog_ != nullptr) RETURN_IF_ERROR(watchdog_->WatchOthers(comm_, request_.output));
  Enter(RunPhase::kStart);
  if (is_root_ && !request_.resume) {  // a resumed run has already logged them
    for (const std::string& warning : parts_.warnings) logger_.Warning(warning);
  }
  ASSIGN_OR_RETURN(const std::string text, BroadcastBytes(comm_, 0, EncodeResumePoint(run_.resume_point)));
  resume_point_ = DecodeResumePoint(text);
  config_.run.steps = resume_point_.steps;
  config_.run.extended_at = resume_point_.extended_at;
  return absl::OkStatus();
}

// A resumed run first re-executes the committed steps after the state.
absl::Status Training::Train() {
  ASSIGN_OR_RETURN(const std::vector<rl::StepTables> records,
                   AgreeOk(comm_, ReadPieces(files_, request_.output, resume_point_, config_)));
  const std::atomic<bool> never = false;
  const std::atomic<bool>& interrupt = request_.interrupt == nullptr ? never : *request_.interrupt;
  ASSIGN_OR_RETURN(const std::unique_ptr<rl::Execution> execution,
                   rl::Execution::Create({.config = config_,
                                          .parts = parts_,
                                          .comm = comm_,
                                          .sink = sink_.get(),
                                          .records = &records,
                                          .resume = [this](const rl::StepTables& step) { observer_->Recall(step); },
                                          .interrupt = &interrupt,
                                          .observer = watchdog_.get()}));
  rl::Learner& learner = execution->learner();
  if (resume_point_.state > 0) {
    ASSIGN_OR_RETURN(const rl::LearnerState state,
                     AgreeOk(comm_, ReadState(files_, request_.output, resume_point_, config_, parts_)));
    learner.Restore(state);
  }
  if (request_.resume && !learner.is_over()) RETURN_IF_ERROR(AgreeOk(comm_, parts_.workload->ProbeProcess(config_)));
  // A signal may have arrived before training started.
  std::vector<int64_t> interrupted = {interrupt.load() ? 1 : 0};
  RETURN_IF_ERROR(AllreduceMax(comm_, absl::MakeSpan(interrupted)));
  // A run that is over has no steps left, but its best weights may have to be loaded.
  if (interrupted[0] == 0 || learner.is_over()) RETURN_IF_ERROR(Steps(learner));
  Enter(RunPhase::kFinish);
  const bool is_training = learner.phase() == rl::Phase::kTraining;
  is_complete_ = learner.is_over();
  is_stopped_ = is_training && request_.stop_after_step > 0 && learner.step() >= StopAfterStep();
  steps_ = rl::ArtifactStep(config_, learner.phase(), learner.step());
  ASSIGN_OR_RETURN(counts_, SumOverRanks(comm_, traffic_before_, *execution, parts_));
  return absl::OkStatus();
}

// Committed steps are always re-executed: a killed process may have committed the last one without its checkpoint.
int64_t Training::StopAfterStep() const {
  if (request_.stop_after_step == 0) return 0;
  return std::max(request_.stop_after_step, resume_point_.committed - config_.sft.steps);
}

// After an error, the steps that were complete are kept. If writing them was the error, another attempt changes
// nothing.
absl::Status Training::Steps(rl::Learner& learner) {
  const absl::Status status = learner.Run(StopAfterStep());
  if (status.ok() || run_.writer == nullptr || !run_.writer->Flush().ok()) return status;
  const int64_t kept = std::max<int64_t>(run_.writer->last_step(), 0);
  if (kept > 0) {
    logger_.Info(absl::StrCat("steps 1 to ", kept, " (SFT phase included) are stored; --resume continues after them"));
  }
  return status;
}

// Called on rank 0 only.
absl::StatusOr<TrainResult> Training::End() {
  if (run_.writer != nullptr) RETURN_IF_ERROR(run_.writer->Flush());
  counts_.by_name.emplace_back("segments", run_.writer == nullptr ? 0 : run_.writer->segments().size());
  counts_.by_name.emplace_back("states", sink_ == nullptr ? 0 : sink_->states());
  if (counts_.process_restarts > 0) {
    logger_.Warning(absl::StrCat("the process of process.command was restarted ", counts_.process_restarts,
                                 " times, on all ranks together"));
  }
  RETURN_IF_ERROR(observer_->Finish(counts_));
  if (!is_complete_ && !is_stopped_) {
    return InterruptedError(absl::StrCat("a signal stopped the run after step ", steps_,
                                         " (SFT phase included); the same command with --resume continues it"));
  }
  for (const std::string& line : RewardCurve(observer_->rewards())) logger_.Info(line);
  if (const std::string& best = observer_->best_evaluation(); !best.empty()) {
    logger_.Info(absl::StrCat("best evaluation: ", best));
  }
  ASSIGN_OR_RETURN(const RunDigests digests, FinishArtifact(files_, request_.output, run_.writer.get()));
  const std::string model = JoinPath(request_.output, "model");
  RETURN_IF_ERROR(Export(config_, files_, model, parts_, base_));
  ASSIGN_OR_RETURN(const Digest weights, models::DigestOfWeights(files_, model));
  // A run that stopped early keeps its state, because more steps may follow.
  if (is_complete_) RETURN_IF_ERROR(RetireStates(files_, request_.output, 0));
  RemoveHeartbeats(JoinPath(request_.output, "watchdog"));  // those of executions that were killed, too
  return TrainResult{.weights_sha256 = ToHex(weights),
                     .run_digest = digests.run_digest_hex,
                     .run_sha256 = digests.file_sha256_hex,
                     .steps = static_cast<int64_t>(observer_->rewards().size())};
}

}  // namespace

absl::StatusOr<std::optional<TrainResult>> TrainRun(const TrainRequest& request, Communicator& comm, Logger& logger) {
  return Training(request, comm, logger).Run();
}

}  // namespace reprise
