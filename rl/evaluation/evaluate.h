#ifndef RL_EVALUATION_EVALUATE_H_
#define RL_EVALUATION_EVALUATE_H_

// Measures how well a policy solves held-out problems, on any number of ranks.

#include <vector>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "core/parallel/thread_pool.h"
#include "models/decoder/model.h"
#include "models/generation/generate.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/episodes/step_rewards.h"
#include "rl/episodes/turn_episodes.h"
#include "rl/evaluation/scores/scores.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// The policy and what it is evaluated with. All references must outlive the call.
struct Evaluator {
  const models::Model& model;
  const models::Tokenizer& tokenizer;
  const RewardOptions& rewards;
  const TurnDeps& turns;  // with the purpose of the evaluation's tasks
  Communicator& comm;
  ThreadPool& pool;
  // The stored replies of the external process to all ranks' problems; the process is then not called. A missing reply
  // ends its episode, and Evaluation::replies then differs from the stored ones. Null: the process is called.
  const std::vector<EvaluationReply>* stored = nullptr;
};

struct Evaluation {
  std::vector<ProblemScore> score_P;     // of all problems, the same on every rank
  std::vector<EvaluationReply> replies;  // of the external process to this rank's problems
};

// Returns the score of every task: of one greedy completion or episode, and of options.num_generations sampled ones (0:
// none). An answer is correct where its reward is at least RewardOptions::correct_reward; if that is 0, a completion is
// where ExactMatch gives 1, and a multi-turn episode where the environment's rewards sum to 1 or more. `tasks`: all of
// them, the same on every rank; options.step: a coordinate of the draws. The same bits on every rank, for any number of
// ranks, threads and slots. Collective. Errors as ScoreEpisodes, and the environment's.
absl::StatusOr<Evaluation> Evaluate(const Evaluator& evaluator, const std::vector<TaskRecord>& tasks,
                                    const models::GenerateOptions& options);

}  // namespace reprise::rl

#endif  // RL_EVALUATION_EVALUATE_H_
