#include "pipelines/training/resume_training.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_state.h"
#include "nlohmann/json.hpp"
#include "pipelines/stored/stored_run.h"
#include "pipelines/training/rewrite_run.h"
#include "rl/config/workload_traits.h"
#include "rl/run/artifact_sink.h"
#include "rl/run/early_end.h"
#include "rl/run/step_number.h"
#include "rl/run/stored_records.h"
#include "rl/run/stored_tensors.h"

namespace reprise {
namespace {

// A run file of the directory, and its steps.
struct Piece {
  RunReader reader;
  std::vector<rl::StepTables> steps;
};

absl::StatusOr<Piece> OpenPiece(FileSystem& files, const std::string& directory, const std::string& name,
                                const rl::Config& config) {
  const std::string path = JoinPath(directory, name);
  ASSIGN_OR_RETURN(RunReader reader, RunReader::Open(files, path, directory));
  absl::StatusOr<std::vector<rl::StepTables>> steps = rl::ReadSteps(reader, config);
  if (!steps.ok()) return WithContext(steps.status(), path);
  return Piece{std::move(reader), *std::move(steps)};
}

int64_t StateNumber(const rl::Config& config, const rl::StepTables& step) {
  return rl::ArtifactStep(config, step.phase, step.step);
}

bool HoldsCheckpoint(const RunReader& reader, int64_t number) {
  const std::vector<CheckpointInfo> infos = reader.checkpoints();
  return std::any_of(infos.begin(), infos.end(), [&](const CheckpointInfo& info) {
    return info.step == number && info.group == rl::kWeightsGroup;
  });
}

absl::StatusOr<rl::LearnerState> LoadState(FileSystem& files, const std::string& directory, const RunHeader& header,
                                           const rl::Config& config, int64_t number, const rl::Policy& policy) {
  return rl::LoadLearnerState(files, directory, header, config, number, policy.layout(), policy.FrozenLayout());
}

// Chooses the newest readable state of a committed step. Of those that cannot be read, whatever the reason, a warning
// tells the name; where none is left, the run is executed again from its beginning, unless the file system failed: then
// the same command may find a state.
absl::Status ChooseState(FileSystem& files, const std::string& directory, const ResumePlan& plan,
                         const rl::RunParts& parts, Logger& logger, ResumePoint* resume_point) {
  ASSIGN_OR_RETURN(std::vector<int64_t> states, ListStates(files, directory));
  std::reverse(states.begin(), states.end());
  absl::Status failed;
  std::vector<std::string> unread;
  bool is_found = false;
  for (const int64_t number : states) {
    if (number <= resume_point->state) break;
    const auto state = LoadState(files, directory, plan.header, plan.config, number, parts.workload->policy());
    if (!state.ok()) {
      unread.emplace_back(state.status().message());
      if (IsFileError(state.status())) failed.Update(state.status());
      continue;
    }
    if (number > resume_point->committed) {  // steps are committed before their state is saved
      return absl::DataLossError(
          absl::StrCat(directory, ": there is a state of step ", number, ", but only ", resume_point->committed,
                       " steps are committed: segments and journals are lost; restore them, or move ",
                       StateDirectory(directory), " away to train the missing steps again"));
    }
    resume_point->state = number;
    resume_point->state_file.clear();
    is_found = true;
    break;
  }
  if (resume_point->state == 0) RETURN_IF_ERROR(failed);
  const absl::string_view goes_on = is_found                  ? "resuming from an older state"
                                    : resume_point->state > 0 ? "the run's last checkpoint serves instead"
                                                              : "no other state is left: executing the run again from "
                                                                "its first step";
  for (const std::string& message : unread) logger.Warning(absl::StrCat(message, "; ", goes_on));
  return absl::OkStatus();
}

// A file with committed steps.
struct StepRange {
  int64_t last = 0;
  std::string name;
};

// Reads everything that is committed. A checkpoint of the last step serves as its state, because nothing is left to
// train.
absl::StatusOr<std::vector<StepRange>> ReadProgress(FileSystem& files, const std::string& directory,
                                                    const std::vector<std::string>& names, const rl::Config& config,
                                                    ResumedTraining* taken) {
  ResumePoint& resume_point = taken->resume_point;
  const int64_t last = rl::ArtifactStep(config, rl::Phase::kTraining, config.run.steps);
  std::vector<StepRange> ranges;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(Piece piece, OpenPiece(files, directory, name, config));
    for (rl::StepTables& step : piece.steps) {
      const int64_t number = StateNumber(config, step);
      const int64_t next = taken->progress.empty() ? 1 : rl::NextNumber(config, taken->progress.back());
      if (number != next) {
        return absl::DataLossError(absl::StrCat(JoinPath(directory, name), ": its step number ", number,
                                                " follows step ", resume_point.committed, " of the run"));
      }
      resume_point.committed = number;
      resume_point.step_file = name;
      taken->progress.push_back(rl::ReadResults(rl::WithoutDigests(std::move(step))));
    }
    ranges.push_back({resume_point.committed, name});
    if (taken->progress.empty()) continue;
    const bool is_over = resume_point.committed == last || rl::EndsRunEarly(config, taken->progress.back());
    if (is_over && HoldsCheckpoint(piece.reader, resume_point.committed)) {
      resume_point.state = resume_point.committed;
      resume_point.state_file = name;
    }
  }
  return ranges;
}

// An SFT phase that converges leaves a gap in the numbers of the steps.
NextStepAfter NextStepIn(FileSystem& files, const std::string& directory, const rl::Config& config) {
  if (!rl::Traits(config).trends(config).sft) return nullptr;
  return [&files, directory, config](const std::string& segment) -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const Piece piece, OpenPiece(files, directory, segment, config));
    return piece.steps.empty() ? 0 : rl::NextNumber(config, rl::ReadResults(piece.steps.back()));
  };
}

void ReportMovedAside(const std::vector<std::string>& paths, Logger& logger) {
  for (const std::string& path : paths) {
    logger.Warning(absl::StrCat(path,
                                ": moved here, because it does not belong to this run and may contain steps that are "
                                "stored nowhere else"));
  }
}

// For a run without further steps: only completes the writes of a process that died. A run that ended early keeps its
// states.
absl::StatusOr<std::vector<StepRange>> ResumeFinished(FileSystem& files, const std::string& directory,
                                                      const ResumePlan& plan, Logger& logger, ResumedTraining* taken) {
  ASSIGN_OR_RETURN(const std::vector<std::string> moved, RunWriter::Tidy(files, directory));
  ReportMovedAside(moved, logger);
  if (plan.is_complete) RETURN_IF_ERROR(RetireStates(files, directory, 0));
  return ReadProgress(files, directory, {"run.h5"}, plan.config, taken);
}

absl::StatusOr<std::vector<StepRange>> ResumeUnfinished(FileSystem& files, const std::string& directory,
                                                        const ResumePlan& plan, const rl::RunParts& parts,
                                                        Logger& logger, ResumedTraining* taken) {
  absl::StatusOr<RunWriter> writer =
      plan.stage == RunStage::kFinished
          ? RewriteRun(files, directory, plan, parts)
          : RunWriter::Resume(files, directory, plan.header, rl::MakeRunWriterOptions(plan.config),
                              NextStepIn(files, directory, plan.config));
  RETURN_IF_ERROR(writer.status());
  taken->writer = std::make_unique<RunWriter>(*std::move(writer));
  ReportMovedAside(taken->writer->moved_aside(), logger);
  std::vector<std::string> names;
  for (const std::string& path : taken->writer->segments()) {
    names.push_back(JoinPath("segments", path.substr(path.rfind('/') + 1)));
  }
  return ReadProgress(files, directory, names, plan.config, taken);
}

}  // namespace

std::string EncodeResumePoint(const ResumePoint& resume_point) {
  const nlohmann::json object = {{"steps", resume_point.steps},           {"extended_at", resume_point.extended_at},
                                 {"committed", resume_point.committed},   {"state", resume_point.state},
                                 {"state_file", resume_point.state_file}, {"step_file", resume_point.step_file},
                                 {"pieces", resume_point.pieces}};
  return object.dump();
}

ResumePoint DecodeResumePoint(const std::string& text) {
  const nlohmann::json object = nlohmann::json::parse(text);
  return {.steps = object.at("steps"),
          .extended_at = object.at("extended_at"),
          .committed = object.at("committed"),
          .state = object.at("state"),
          .state_file = object.at("state_file"),
          .step_file = object.at("step_file"),
          .pieces = object.at("pieces").get<std::vector<std::string>>()};
}

absl::StatusOr<ResumedTraining> ResumeTraining(FileSystem& files, const std::string& directory, const ResumePlan& plan,
                                               const rl::RunParts& parts, Logger& logger) {
  ResumedTraining taken;
  taken.resume_point.steps = plan.config.run.steps;
  taken.resume_point.extended_at = plan.config.run.extended_at;
  ASSIGN_OR_RETURN(const std::vector<StepRange> ranges,
                   plan.is_done ? ResumeFinished(files, directory, plan, logger, &taken)
                                : ResumeUnfinished(files, directory, plan, parts, logger, &taken));
  RETURN_IF_ERROR(ChooseState(files, directory, plan, parts, logger, &taken.resume_point));
  for (const StepRange& range : ranges) {
    if (range.last > taken.resume_point.state) taken.resume_point.pieces.push_back(range.name);
  }
  return taken;
}

absl::StatusOr<rl::LearnerState> ReadState(FileSystem& files, const std::string& directory,
                                           const ResumePoint& resume_point, const rl::Config& config,
                                           const rl::RunParts& parts) {
  if (resume_point.state_file.empty()) {
    return LoadState(files, directory, rl::HeaderOf(config, parts), config, resume_point.state,
                     parts.workload->policy());
  }
  ASSIGN_OR_RETURN(const Piece piece, OpenPiece(files, directory, resume_point.state_file, config));
  ASSIGN_OR_RETURN(const Piece with_step, OpenPiece(files, directory, resume_point.step_file, config));
  const auto [phase, number] = rl::StepOfNumber(config, resume_point.state);
  const rl::StepTables* const step = rl::FindStep(with_step.steps, phase, number);
  if (step == nullptr) {
    return absl::DataLossError(absl::StrCat(JoinPath(directory, resume_point.step_file), ": it no longer contains ",
                                            rl::StepName(phase, number)));
  }
  return rl::StateOfCheckpoint(piece.reader, config, *step, parts.workload->policy().layout());
}

absl::StatusOr<std::vector<rl::StepTables>> ReadPieces(FileSystem& files, const std::string& directory,
                                                       const ResumePoint& resume_point, const rl::Config& config) {
  std::vector<rl::StepTables> all;
  for (const std::string& name : resume_point.pieces) {
    ASSIGN_OR_RETURN(Piece piece, OpenPiece(files, directory, name, config));
    for (rl::StepTables& step : piece.steps) {
      if (StateNumber(config, step) > resume_point.state) all.push_back(std::move(step));
    }
  }
  return all;
}

}  // namespace reprise
