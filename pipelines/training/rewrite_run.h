#ifndef PIPELINES_TRAINING_REWRITE_RUN_H_
#define PIPELINES_TRAINING_REWRITE_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"
#include "data/artifact/run_writer.h"
#include "pipelines/training/resume_plan.h"
#include "rl/workload/run_parts.h"

namespace reprise {

// Extends a finished run: commits its steps under the plan's header and returns a writer that continues after them.
// Checkpoints and digests of the old end that the longer run does not have are dropped. The old run.h5 and model/ stay
// beside it as run.until-N.h5 and model.until-N, where N is the old end's training step (".until-N.2" and so on where
// such a name exists).
absl::StatusOr<RunWriter> RewriteRun(FileSystem& files, const std::string& directory, const ResumePlan& plan,
                                     const rl::RunParts& parts);

}  // namespace reprise

#endif  // PIPELINES_TRAINING_REWRITE_RUN_H_
