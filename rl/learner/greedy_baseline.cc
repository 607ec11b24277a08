#include "rl/learner/greedy_baseline.h"

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/advantage/reward_table.h"

namespace reprise::rl {

absl::StatusOr<std::vector<double>> GreedyRewards(const models::Model& policy, const models::Tokenizer& tokenizer,
                                                  const std::vector<TaskRecord>& tasks, GenerateOptions options,
                                                  const RewardOptions& rewards, ThreadPool& pool) {
  options.num_generations = 1;
  options.sampling.top_k = 1;
  std::vector<Prompt> prompts;
  for (const TaskRecord& task : tasks) prompts.push_back({task.tokens, static_cast<uint64_t>(task.prompt)});
  const GenerateResult greedy = Generate(policy.decoder(), prompts, options, pool);
  std::vector<double> reward_P;
  for (size_t p = 0; p < tasks.size(); ++p) {
    const SampledCompletion& completion = greedy.completions[p];
    ASSIGN_OR_RETURN(
        const std::vector<double> rewards_F,
        RewardsOfCompletion(rewards, tasks[p],
                            ScoredCompletionOf(tokenizer, rewards.rules, completion.tokens, completion.terminated),
                            absl::StrCat("the greedy completion of prompt ", tasks[p].prompt)));
    reward_P.push_back(WeightedRewards({rewards_F, rewards.weights_F, 1})[0]);
  }
  return reward_P;
}

}  // namespace reprise::rl
