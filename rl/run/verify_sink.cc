#include "rl/run/verify_sink.h"

#include "absl/strings/str_cat.h"

namespace reprise::rl {

VerifySink::VerifySink(const std::vector<StepRecord>& stored, std::vector<std::string> tensor_names,
                       std::function<void(const StepRecord&)> observer)
    : tensor_names_(std::move(tensor_names)), observer_(std::move(observer)) {
  for (const StepRecord& record : stored) stored_[{record.phase, record.step}] = &record;
}

absl::StatusOr<bool> VerifySink::Commit(const StepRecord& record) {
  const auto found = stored_.find({record.phase, record.step});
  if (found == stored_.end()) return absl::DataLossError(absl::StrCat("the run holds no step ", record.step));
  divergence_ = FirstDivergence(*found->second, record, tensor_names_);
  if (divergence_) return false;
  ++steps_checked_;
  observer_(record);
  return true;
}

absl::Status VerifySink::Checkpoint(int64_t, absl::Span<const TensorView>, absl::Span<const TensorView>,
                                    absl::Span<const TensorView>) {
  return absl::OkStatus();
}

}  // namespace reprise::rl
