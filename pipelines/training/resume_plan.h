#ifndef PIPELINES_TRAINING_RESUME_PLAN_H_
#define PIPELINES_TRAINING_RESUME_PLAN_H_

// Determines the contents of a directory, and how a configuration can resume its run. Does not change the directory.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"
#include "data/artifact/find_run.h"
#include "data/artifact/format/run_header.h"
#include "rl/config/config.h"
#include "rl/workload/run_parts.h"

namespace reprise {

struct ResumePlan {
  RunStage stage = RunStage::kNone;
  rl::Config config;         // the given one, with the run's recorded ends (run.extended_at), and with the run's
                             // run.steps where more were given that the last requested step does not need
  RunHeader header;          // of `config`
  bool is_complete = false;  // a finished run that has all the steps of `config`, or was ended by its evaluations
  bool is_done = false;      // a finished run that has all requested steps
  int64_t last_step = 0;     // committed, in the artifact's numbering; 0: none
};

// `stop_after_step`: the last requested training step; 0: all. NotFound where there is no run. FailedPrecondition,
// listing every key and file that differs and the remedy, where the run is not one of `config`; but a finished run can
// be extended by more run.steps. Errors of reading are FindRun's.
absl::StatusOr<ResumePlan> PlanResume(FileSystem& files, const std::string& directory, const rl::Config& config,
                                      const rl::RunParts& parts, int64_t stop_after_step);

}  // namespace reprise

#endif  // PIPELINES_TRAINING_RESUME_PLAN_H_
