#include "rl/run/execution.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/record/divergence.h"
#include "rl/run/prepare.h"

namespace reprise::rl {
namespace {

// Compares committed steps with the stored ones and passes all later steps on. The checkpoints and states of committed
// steps are passed on too: the earlier process may have died between a step and its checkpoint, and a writer ignores a
// checkpoint that the run already has.
class ResumingSink : public StepSink {
 public:
  ResumingSink(const ExecutionRequest& request, const RecordSchema& schema)
      : schema_(schema),
        stored_(*request.records),
        tensor_names_(ListTensorNames(request.parts.workload->policy().layout())),
        live_(request.sink),
        resume_(request.resume) {}

  absl::StatusOr<bool> Commit(const StepTables& step) override {
    const StepTables* const stored = FindStep(stored_, step.phase, step.step);
    if (stored == nullptr) return live_->Commit(step);
    const auto divergence = FirstDivergence(schema_, *stored, step, tensor_names_);
    if (divergence) {
      return absl::DataLossError(absl::StrCat(
          "the run cannot be resumed: executed again from its stored tokens, a step differs from the stored one (",
          divergence->ToString(), "); this program or machine computes differently from the one that began the run"));
    }
    resume_(step);
    return true;
  }
  bool WantsCheckpoint(Phase phase, int64_t step, bool is_over) override {
    return live_ != nullptr && live_->WantsCheckpoint(phase, step, is_over);
  }
  absl::Status Checkpoint(const PolicyState& state) override { return live_->Checkpoint(state); }
  bool WantsState(Phase phase, int64_t step, bool ends) override {
    return live_ != nullptr && live_->WantsState(phase, step, ends);
  }
  absl::Status SaveState(const PolicyState& state) override { return live_->SaveState(state); }

 private:
  const RecordSchema& schema_;
  const std::vector<StepTables>& stored_;
  const std::vector<std::string> tensor_names_;
  StepSink* const live_;
  const std::function<void(const StepTables&)> resume_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Execution>> Execution::Create(const ExecutionRequest& request) {
  const RunParts& parts = request.parts;
  std::unique_ptr<Execution> execution(new Execution());
  ASSIGN_OR_RETURN(execution->workload_, parts.workload->Start({.config = request.config,
                                                                .comm = request.comm,
                                                                .pool = *parts.pool,
                                                                .records = request.records,
                                                                .continues_live = request.resume != nullptr}));
  if (request.resume) execution->resuming_ = std::make_unique<ResumingSink>(request, execution->workload_->schema());
  StepSink* const sink = execution->resuming_ ? execution->resuming_.get() : request.sink;
  ASSIGN_OR_RETURN(execution->learner_, Learner::Create({.config = request.config,
                                                         .workload = *execution->workload_,
                                                         .sink = request.comm.rank() == 0 ? sink : nullptr,
                                                         .comm = request.comm,
                                                         .pool = *parts.pool,
                                                         .interrupt = request.interrupt,
                                                         .observer = request.observer}));
  return execution;
}

}  // namespace reprise::rl
