#include "rl/workload/replay.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"

namespace reprise::rl {

absl::StatusOr<std::optional<StepRecord>> StoredStep(const WorkloadRun& run, const StepPart& part,
                                                     const Workload& workload) {
  if (run.records == nullptr) return std::nullopt;
  const StepTables* const tables = FindStep(*run.records, part.phase, part.step);
  if (tables != nullptr) {
    ASSIGN_OR_RETURN(StepRecord stored, workload.DecodeStep(*tables));
    return std::optional<StepRecord>(std::move(stored));
  }
  if (run.continues_live && IsAfter(*run.records, part.phase, part.step)) return std::nullopt;
  return absl::DataLossError(absl::StrCat("the run contains no step ", part.step));
}

absl::StatusOr<const EpisodeRecord*> StoredEpisode(const StepRecord& stored, int64_t prompt, int64_t sample,
                                                   int64_t samples) {
  const size_t at = static_cast<size_t>(prompt * samples + sample);
  if (at < stored.episode_N.size() && stored.episode_N[at].prompt == prompt) return &stored.episode_N[at];
  return absl::DataLossError(
      absl::StrCat("the run's step ", stored.step, " lacks prompt ", prompt, " sample ", sample));
}

absl::Status CheckReward(const EpisodeRecord& episode) {
  if (IsWithinBounds(episode.reward)) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the reward of prompt ", episode.prompt, " sample ", episode.sample, " is ", episode.reward));
}

}  // namespace reprise::rl
