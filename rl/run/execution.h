#ifndef RL_RUN_EXECUTION_H_
#define RL_RUN_EXECUTION_H_

// The assembly of a run: what draws episodes, learns from them and commits steps. Every program, test and benchmark
// that executes a run starts here.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "rl/config/config.h"
#include "rl/learner/learner.h"
#include "rl/learner/step_observer.h"
#include "rl/record/step_sink.h"
#include "rl/workload/run_parts.h"
#include "rl/workload/workload.h"

namespace reprise::rl {

// Everything that is referenced must outlive the execution.
struct ExecutionRequest {
  const Config& config;   // checked (CheckConfig)
  const RunParts& parts;  // of `config`; training changes the policy's weights
  Communicator& comm;
  StepSink* sink;  // called on rank 0 only
  // Stored steps: they are executed from what the record stores. Null: all steps are live.
  const std::vector<StepTables>* records = nullptr;
  // Set to resume a run, whose committed steps after its state are `records`. Each must come out equal to the stored
  // one (else DataLoss, which names step, stage and tensor) and is passed to this function instead of the sink. Live
  // steps follow; without a sink there must be none. If not set, a step that is not stored is an error.
  std::function<void(const StepTables&)> resume = nullptr;
  const std::atomic<bool>* interrupt = nullptr;  // as in LearnerDeps
  StepObserver* observer = nullptr;              // of this rank; null: none
};

class Execution {
 public:
  // Collective. Errors: those of PreparedWorkload::Start and Learner::Create.
  static absl::StatusOr<std::unique_ptr<Execution>> Create(const ExecutionRequest& request);

  Learner& learner() const { return *learner_; }
  const Workload& workload() const { return *workload_; }

 private:
  Execution() = default;

  std::unique_ptr<Workload> workload_;
  std::unique_ptr<StepSink> resuming_;  // null unless a run is resumed
  std::unique_ptr<Learner> learner_;
};

}  // namespace reprise::rl

#endif  // RL_RUN_EXECUTION_H_
