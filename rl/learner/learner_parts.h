#ifndef RL_LEARNER_LEARNER_PARTS_H_
#define RL_LEARNER_LEARNER_PARTS_H_

#include <atomic>
#include <vector>

#include "core/comm/communicator.h"
#include "core/parallel/thread_pool.h"
#include "data/tasks/task.h"
#include "models/decoder/model.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/environment/environment.h"
#include "rl/environments/process/process_client.h"
#include "rl/episodes/episode_source.h"
#include "rl/policy/policy.h"
#include "rl/record/step_sink.h"
#include "rl/reward/reward.h"

namespace reprise::rl {

// What a learner works with. All references must outlive it.
struct LearnerParts {
  const Config& config;        // checked (CheckConfig)
  Policy& policy;              // its weights at the start of the run on every rank
  const models::Model& model;  // the policy's, which plays and is evaluated
  const models::Tokenizer& tokenizer;
  EpisodeSource& source;
  StepSink* sink;  // on rank 0; null elsewhere
  Communicator& comm;
  ThreadPool& pool;
  const std::vector<data::Task>& problems;  // of data.path; empty without a path
  const std::vector<data::Task>& held_out;  // of a file, for evaluations
  RewardFunction reward = nullptr;          // null: the one that the configuration names
  // If it is set, on any rank and at any time (by a signal), the run ends after the current step. May be null.
  const std::atomic<bool>* interrupt = nullptr;
  Environment* environment = nullptr;  // of evaluations; null where the run has none
  ProcessClient* process = nullptr;    // of the reward function `process`; null where the run has none
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_LEARNER_PARTS_H_
