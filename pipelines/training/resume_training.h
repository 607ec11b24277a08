#ifndef PIPELINES_TRAINING_RESUME_TRAINING_H_
#define PIPELINES_TRAINING_RESUME_TRAINING_H_

// Resumes a run: rank 0 opens its directory and sends all ranks the point to resume from.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "core/log/logger.h"
#include "data/artifact/run_writer.h"
#include "pipelines/training/resume_plan.h"
#include "rl/learner/learner_state.h"
#include "rl/record/record_schema.h"
#include "rl/workload/run_parts.h"

namespace reprise {

// The information that every rank needs. Steps have the artifact's numbering.
struct ResumePoint {
  int64_t steps = 0;  // run.steps and run.extended_at of the run's configuration
  std::string extended_at;
  int64_t committed = 0;            // the last committed step; 0: none
  int64_t state = 0;                // the step after which the learner resumes; 0: from the start
  std::string state_file;           // a run file with a checkpoint of that step; empty: it is one of the saved states
  std::string step_file;            // with a state_file: the run file with the step itself, often an earlier one
  std::vector<std::string> pieces;  // run files with the committed steps after it
  // Files are given by their names in the run's directory.
};

std::string EncodeResumePoint(const ResumePoint& resume_point);
ResumePoint DecodeResumePoint(const std::string& text);

// Rank 0's state of a resumed run.
struct ResumedTraining {
  ResumePoint resume_point;
  std::unique_ptr<RunWriter> writer;      // null: the run is finished
  std::vector<rl::StepResults> progress;  // every committed step, without digests
};

// Resumes the run of a plan. A finished run is only tidied, unless it is extended: then its run.h5 (and model/) stay
// beside it under names with the step at which it ended. Errors are RunWriter's.
absl::StatusOr<ResumedTraining> ResumeTraining(FileSystem& files, const std::string& directory, const ResumePlan& plan,
                                               const rl::RunParts& parts, Logger& logger);

// Reads the state of `resume_point`, which must have one; `config` must have its extended_at.
absl::StatusOr<rl::LearnerState> ReadState(FileSystem& files, const std::string& directory,
                                           const ResumePoint& resume_point, const rl::Config& config,
                                           const rl::RunParts& parts);

// Reads the committed steps after the state.
absl::StatusOr<std::vector<rl::StepTables>> ReadPieces(FileSystem& files, const std::string& directory,
                                                       const ResumePoint& resume_point, const rl::Config& config);

}  // namespace reprise

#endif  // PIPELINES_TRAINING_RESUME_TRAINING_H_
