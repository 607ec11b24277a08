#ifndef RL_EVALUATION_EVALUATE_H_
#define RL_EVALUATION_EVALUATE_H_

// How well a policy solves held-out problems, on any number of ranks.

#include <vector>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "core/parallel/thread_pool.h"
#include "models/decoder/decoder.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/evaluation/scores.h"
#include "rl/learner/step_record.h"
#include "rl/learner/step_rewards.h"
#include "rl/rollout/generate.h"

namespace reprise::rl {

// What evaluates, and with what. All must outlive the call.
struct Evaluator {
  const models::Decoder& decoder;
  const models::Tokenizer& tokenizer;
  const RewardOptions& rewards;
  Communicator& comm;
  ThreadPool& pool;
};

// The score of every task: one greedy completion, and options.num_generations samples (0: none). A completion is
// correct where ExactMatch gives 1. `tasks`: all of them, the same on every rank. The same bits on every rank, for any
// number of ranks, threads and slots. Collective. Errors as RewardsOfCompletion.
absl::StatusOr<std::vector<ProblemScore>> Evaluate(const Evaluator& evaluator, const std::vector<TaskRecord>& tasks,
                                                   const GenerateOptions& options);

}  // namespace reprise::rl

#endif  // RL_EVALUATION_EVALUATE_H_
