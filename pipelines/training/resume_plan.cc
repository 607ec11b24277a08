#include "pipelines/training/resume_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/run_writer.h"
#include "pipelines/stored/run_comparison.h"
#include "pipelines/stored/stored_run.h"
#include "rl/config/extension.h"
#include "rl/run/artifact_sink.h"
#include "rl/run/early_end.h"
#include "rl/run/step_number.h"

namespace reprise {
namespace {

// Returns whether the finished run was ended by early stopping.
absl::StatusOr<bool> EndedEarly(const std::string& directory, const rl::Config& config) {
  if (!rl::MayEndEarly(config)) return false;
  ASSIGN_OR_RETURN(const StoredRun run, OpenStoredRun(JoinPath(directory, "run.h5")));
  return !run.steps.empty() && rl::EndsRunEarly(config, rl::ReadResults(run.steps.back()));
}

std::string OrNone(const std::string& value) { return value.empty() ? "nothing" : value; }

absl::Status OfAnotherRun(const std::string& directory, const std::vector<HeaderDifference>& differences) {
  const bool has_other_steps = differences.size() == 1 && differences[0].name == "run.steps";
  const auto append = [](std::string* out, const HeaderDifference& difference) {
    absl::StrAppend(out, difference.name, " is ", OrNone(difference.a), " there and ", OrNone(difference.b), " here");
  };
  return absl::FailedPreconditionError(absl::StrCat(
      directory, " contains another run: ", absl::StrJoin(differences, "; ", append),
      ". Use the settings that it was started with",
      has_other_steps ? " (run.steps can only be raised, and only when the run has done all of its steps)" : "",
      ", or start a new run in another directory, where --init-from ", directory,
      " starts from the weights of this one"));
}

}  // namespace

absl::StatusOr<ResumePlan> PlanResume(FileSystem& files, const std::string& directory, const rl::Config& config,
                                      const rl::RunParts& parts, int64_t stop_after_step) {
  ASSIGN_OR_RETURN(const FoundRun found, FindRun(files, directory));
  ResumePlan plan = {.stage = found.stage, .config = config, .header = rl::HeaderOf(config, parts)};
  if (found.stage == RunStage::kNone) {
    const absl::Status free = RunWriter::CheckFree(files, directory);
    return absl::NotFoundError(absl::StrCat(
        directory, free.ok() ? " contains no run to resume; without --resume a new one is started there"
                             : " contains no run to resume, but files of one: start again in another directory, or "
                               "remove it"));
  }
  if (found.stage == RunStage::kClaimed) return plan;
  absl::StatusOr<rl::Config> stored = ParseStoredConfig(found.header.config_text);
  if (!stored.ok()) return WithContext(stored.status(), directory);
  plan.last_step = std::max<int64_t>(found.last_step, 0);
  if (plan.config.run.extended_at.empty()) plan.config.run.extended_at = stored->run.extended_at;
  plan.is_complete = found.stage == RunStage::kFinished &&
                     plan.last_step == rl::ArtifactStep(*stored, rl::Phase::kTraining, stored->run.steps);
  const bool is_longer = config.run.steps > stored->run.steps;
  bool ended_early = false;  // maybe with the last of its steps
  if (found.stage == RunStage::kFinished && (is_longer || !plan.is_complete)) {
    ASSIGN_OR_RETURN(ended_early, EndedEarly(directory, *stored));
  }
  if (ended_early && is_longer) {
    return absl::FailedPreconditionError(absl::StrCat(
        directory,
        " contains a run that ended by early stopping: more run.steps do not extend it; start a new run in "
        "another directory, where --init-from ",
        directory, " starts from the weights of this one"));
  }
  plan.is_complete = plan.is_complete || ended_early;
  rl::Config as_stored = plan.config;
  if (plan.is_complete && is_longer) {
    as_stored.run.steps = stored->run.steps;
    // A stop at or before the end of the complete run leaves it as it is.
    if (stop_after_step > 0 && stop_after_step <= stored->run.steps) {
      plan.config = as_stored;
    } else {
      ASSIGN_OR_RETURN(plan.config, rl::Extend(as_stored, config.run.steps));
      plan.is_complete = false;
    }
  }
  const int64_t wanted = stop_after_step > 0 ? std::min(stop_after_step, plan.config.run.steps) : plan.config.run.steps;
  plan.is_done = found.stage == RunStage::kFinished &&
                 (ended_early || plan.last_step >= rl::ArtifactStep(plan.config, rl::Phase::kTraining, wanted));
  plan.header = rl::HeaderOf(plan.config, parts);
  // Except for an extension the two must be equal.
  const std::vector<HeaderDifference> differences = CompareHeaders(found.header, rl::HeaderOf(as_stored, parts));
  if (!differences.empty()) return OfAnotherRun(directory, differences);
  return plan;
}

}  // namespace reprise
