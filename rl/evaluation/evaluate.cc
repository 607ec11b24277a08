#include "rl/evaluation/evaluate.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/advantage/reward_table.h"
#include "rl/learner/task_batch.h"
#include "rl/learner/wire.h"
#include "rl/reward/reward.h"

namespace reprise::rl {
namespace {

struct Judgement {
  bool correct = false;
  double reward = 0;
};

absl::StatusOr<Judgement> Judge(const Evaluator& evaluator, const TaskRecord& task,
                                const SampledCompletion& completion) {
  std::vector<int32_t> written = completion.tokens;
  if (completion.terminated) written.pop_back();
  const std::string text = evaluator.tokenizer.Decode(written);
  ASSIGN_OR_RETURN(const std::vector<double> rewards_F,
                   RewardsOfCompletion(evaluator.tokenizer, evaluator.rewards, task, completion.tokens,
                                       completion.terminated, absl::StrCat("held-out problem ", task.prompt)));
  return Judgement{ExactMatch({task.text, task.answer, text, completion.terminated}) == 1.0,
                   WeightedRewards({rewards_F, evaluator.rewards.weights_F, 1})[0]};
}

// Of this rank's tasks.
absl::StatusOr<std::vector<ProblemScore>> ScoreHere(const Evaluator& evaluator, absl::Span<const TaskRecord> tasks,
                                                    const GenerateOptions& options) {
  std::vector<Prompt> prompts;
  for (const TaskRecord& task : tasks) prompts.push_back({task.tokens, static_cast<uint64_t>(task.prompt)});
  GenerateOptions greedy_options = options;
  greedy_options.num_generations = 1;
  greedy_options.sampling = {.greedy = true};
  const GenerateResult greedy = Generate(evaluator.decoder, prompts, greedy_options, evaluator.pool);
  const size_t samples = static_cast<size_t>(options.num_generations);
  GenerateResult sampled;
  if (samples > 0) sampled = Generate(evaluator.decoder, prompts, options, evaluator.pool);
  std::vector<ProblemScore> score_P;
  for (size_t p = 0; p < tasks.size(); ++p) {
    ASSIGN_OR_RETURN(const Judgement best, Judge(evaluator, tasks[p], greedy.completions[p]));
    ProblemScore score = {tasks[p].prompt, best.correct ? 1 : 0, best.reward};
    std::vector<double> rewards;
    for (size_t i = p * samples; i < (p + 1) * samples; ++i) {
      ASSIGN_OR_RETURN(const Judgement judgement, Judge(evaluator, tasks[p], sampled.completions[i]));
      score.correct += judgement.correct ? 1 : 0;
      rewards.push_back(judgement.reward);
      score.tokens += static_cast<int64_t>(sampled.completions[i].tokens.size());
    }
    if (samples > 0) score.reward = kernels::TreeSum(rewards) / static_cast<double>(samples);
    score_P.push_back(score);
  }
  return score_P;
}

}  // namespace

absl::StatusOr<std::vector<ProblemScore>> Evaluate(const Evaluator& evaluator, const std::vector<TaskRecord>& tasks,
                                                   const GenerateOptions& options) {
  Communicator& comm = evaluator.comm;
  const int64_t count = static_cast<int64_t>(tasks.size());
  // Contiguous and equal, so that the ranks' scores follow each other in order.
  const size_t begin = static_cast<size_t>(FirstPromptOfShard(count, comm.size(), comm.rank()));
  const size_t end = static_cast<size_t>(FirstPromptOfShard(count, comm.size(), comm.rank() + 1));
  ASSIGN_OR_RETURN(
      const std::vector<ProblemScore> mine,
      AgreeOk(comm, ScoreHere(evaluator, absl::MakeConstSpan(tasks).subspan(begin, end - begin), options)));
  WireWriter writer;
  writer.PutArray(mine);
  ASSIGN_OR_RETURN(const std::vector<std::string> of_ranks, AllgatherBytes(comm, writer.bytes()));
  std::vector<ProblemScore> all;
  for (const std::string& bytes : of_ranks) {
    WireReader reader(bytes);
    const std::vector<ProblemScore> scores = reader.GetArray<ProblemScore>();
    all.insert(all.end(), scores.begin(), scores.end());
  }
  return all;
}

}  // namespace reprise::rl
