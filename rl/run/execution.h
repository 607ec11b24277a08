#ifndef RL_RUN_EXECUTION_H_
#define RL_RUN_EXECUTION_H_

// The assembly of a run: what draws episodes, learns from them and commits steps. Every program, test and benchmark
// that executes a run starts here.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "core/parallel/thread_pool.h"
#include "rl/config/config.h"
#include "rl/episodes/episode_source.h"
#include "rl/episodes/sources.h"
#include "rl/learner/learner.h"
#include "rl/record/step_record.h"
#include "rl/record/step_sink.h"
#include "rl/run/prepare.h"

namespace reprise::rl {

// Everything that is referenced must outlive the execution.
struct ExecutionRequest {
  const Config& config;   // checked (CheckConfig)
  const RunParts& parts;  // of `config`; training changes the model's weights
  Communicator& comm;
  ThreadPool& pool;
  StepSink& sink;  // called on rank 0 only
  // Stored steps. Those up to number `replay_until` (ArtifactStep) use the stored tokens and replies (ReplaySource),
  // all others are live (LiveSource). Null: all are live.
  const std::vector<StepRecord>* records = nullptr;
  int64_t replay_until = std::numeric_limits<int64_t>::max();
  // Returns a source to use in place of the given one, which it may call; for tests and measurements. Null: none.
  std::function<std::unique_ptr<EpisodeSource>(EpisodeSource& source)> replace_source = nullptr;
  RewardFunction reward = nullptr;               // as in LearnerParts
  const std::atomic<bool>* interrupt = nullptr;  // as in LearnerParts
};

class Execution {
 public:
  // Errors: those of Learner::Create.
  static absl::StatusOr<std::unique_ptr<Execution>> Create(const ExecutionRequest& request);

  Learner& learner() { return *learner_; }
  int64_t refills() const { return live_.refills(); }  // of decode slots

 private:
  Execution(const ExecutionRequest& request, const TurnParts& turns);

  LiveSource live_;
  std::unique_ptr<EpisodeSource> stored_then_live_, replacement_;  // may be null
  std::unique_ptr<Learner> learner_;
};

}  // namespace reprise::rl

#endif  // RL_RUN_EXECUTION_H_
