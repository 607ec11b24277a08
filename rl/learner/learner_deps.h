#ifndef RL_LEARNER_LEARNER_DEPS_H_
#define RL_LEARNER_LEARNER_DEPS_H_

#include <atomic>

#include "core/comm/communicator.h"
#include "core/parallel/thread_pool.h"
#include "rl/config/config.h"
#include "rl/learner/step_observer.h"
#include "rl/record/step_sink.h"
#include "rl/workload/workload.h"

namespace reprise::rl {

// What a learner works with. All references must outlive it.
struct LearnerDeps {
  const Config& config;  // checked (CheckConfig)
  Workload& workload;    // its policy has the weights of the start of the run on every rank
  StepSink* sink;        // on rank 0; null elsewhere
  Communicator& comm;
  ThreadPool& pool;
  // If it is set, on any rank and at any time (by a signal), the run ends after the current step. May be null.
  const std::atomic<bool>* interrupt = nullptr;
  StepObserver* observer = nullptr;  // of this rank; null: none

  void Enter(StepStage stage, Phase phase, int64_t step) const {
    if (observer != nullptr) observer->OnStage(stage, phase, step);
  }
  Policy& policy() const { return workload.policy(); }
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_LEARNER_DEPS_H_
