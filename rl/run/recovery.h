#ifndef RL_RUN_RECOVERY_H_
#define RL_RUN_RECOVERY_H_

// Resumes a run: the committed steps after its last state are executed again from their stored tokens, and must equal
// the stored steps; then the run continues.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/config/config.h"
#include "rl/record/step_record.h"
#include "rl/record/step_sink.h"

namespace reprise::rl {

// Compares committed steps with the stored ones, adds the checkpoints that the run lacks, and passes all later steps to
// `live`.
class RecoverySink : public StepSink {
 public:
  // `records`: of the committed steps after the state. `live`: null where no other steps follow. `observer` is called
  // with each step that was equal. All references must outlive this.
  RecoverySink(const Config& config, int64_t committed, const std::vector<StepRecord>& records,
               std::vector<std::string> tensor_names, StepSink* live, std::function<void(const StepRecord&)> observer);

  // DataLoss, naming step, stage and tensor, if a step differs from the stored one: then nothing is added to the run.
  absl::StatusOr<bool> Commit(const StepRecord& record) override;
  // Returns true for committed steps too: the earlier process may have died between a step and its checkpoint, and a
  // writer ignores a checkpoint that the run already has.
  bool WantsCheckpoint(Phase phase, int64_t step, bool is_over) override {
    return live_ != nullptr && live_->WantsCheckpoint(phase, step, is_over);
  }
  absl::Status Checkpoint(const PolicyState& state) override { return live_->Checkpoint(state); }
  bool WantsState(Phase phase, int64_t step, bool ends) override {
    return live_ != nullptr && live_->WantsState(phase, step, ends);
  }
  absl::Status SaveState(const PolicyState& state) override { return live_->SaveState(state); }

 private:
  const Config config_;
  const int64_t committed_;
  std::map<std::pair<Phase, int64_t>, const StepRecord*> stored_;
  const std::vector<std::string> tensor_names_;
  StepSink* const live_;
  const std::function<void(const StepRecord&)> observer_;
};

}  // namespace reprise::rl

#endif  // RL_RUN_RECOVERY_H_
