#include "rl/run/recovery.h"

#include "absl/strings/str_cat.h"
#include "rl/record/divergence.h"
#include "rl/run/step_number.h"

namespace reprise::rl {

RecoverySink::RecoverySink(const Config& config, int64_t committed, const std::vector<StepRecord>& records,
                           std::vector<std::string> tensor_names, StepSink* live,
                           std::function<void(const StepRecord&)> observer)
    : config_(config),
      committed_(committed),
      tensor_names_(std::move(tensor_names)),
      live_(live),
      observer_(std::move(observer)) {
  for (const StepRecord& record : records) stored_.emplace(std::make_pair(record.phase, record.step), &record);
}

absl::StatusOr<bool> RecoverySink::Commit(const StepRecord& record) {
  if (ArtifactStep(config_, record.phase, record.step) > committed_) return live_->Commit(record);
  const auto found = stored_.find({record.phase, record.step});
  if (found == stored_.end()) return absl::DataLossError("the run has committed this step but does not contain it");
  const auto divergence = FirstDivergence(*found->second, record, tensor_names_);
  if (!divergence) {
    observer_(record);
    return true;
  }
  return absl::DataLossError(absl::StrCat(
      "the run cannot be resumed: executed again from its stored tokens, a step differs from the stored one (",
      divergence->ToString(), "); this program or machine computes differently from the one that began the run"));
}

}  // namespace reprise::rl
