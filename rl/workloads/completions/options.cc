#include "rl/workloads/completions/options.h"

#include <algorithm>
#include <string>

#include "core/status/status_macros.h"
#include "rl/config/reward_choice.h"
#include "rl/environments/environments.h"
#include "rl/record/recorded.h"

namespace reprise::rl {

absl::StatusOr<RewardOptions> MakeRewardOptions(const Config& config, const std::vector<int32_t>& end_tokens) {
  ASSIGN_OR_RETURN(const RewardChoice choice, ParseRewardChoice(config.algorithm.reward));
  RewardOptions options;
  for (const std::string& name : choice.functions) {
    if (name == kEnvironmentReward || name == kProcessReward) {
      options.functions.push_back(nullptr);
      continue;
    }
    ASSIGN_OR_RETURN(const RewardFunction function, FindReward(name));
    options.functions.push_back(function);
  }
  options.columns = {choice.names_F, choice.weights_F};
  const auto find = [&](absl::string_view name) {
    return std::find(choice.names_F.begin(), choice.names_F.end(), name);
  };
  if (config.algorithm.reward.by_turn) {
    options.columns.by_turn = static_cast<size_t>(find(kEnvironmentReward) - choice.names_F.begin());
  }
  options.columns.may_lack = find(kProcessReward) != choice.names_F.end();
  options.max_completion_length = config.rollout.max_completion_length;
  options.soft_punish_cache = config.algorithm.reward.soft_punish_cache;
  options.missing_eos_penalty = config.algorithm.reward.missing_eos_penalty;
  options.turn_reward = config.environment.turn_reward;
  options.correct_reward = config.evaluation.correct_reward.value_or(0);
  ASSIGN_OR_RETURN(options.rules, MakeTurnRules(config, end_tokens));
  return options;
}

models::GenerateOptions MakeGenerateOptions(const Config& config, const models::Tokenizer& tokenizer,
                                            const TurnRules& rules) {
  models::GenerateOptions options;
  options.num_generations = config.rollout.num_generations;
  options.max_completion_length = config.rollout.max_completion_length;
  options.max_action_length = config.environment.max_action_length;
  options.sampling.temperature = static_cast<float>(config.rollout.temperature);
  options.sampling.top_k = config.rollout.top_k;
  options.sampling.top_p = static_cast<float>(config.rollout.top_p);
  options.end_tokens = rules.end_tokens;
  if (!rules.stops.empty() && config.environment.name.empty()) {
    options.is_complete = [&tokenizer, rules](absl::Span<const int32_t> tokens) {
      return IsComplete(tokenizer, rules, tokens);
    };
  }
  options.min_new_tokens = config.rollout.min_new_tokens;
  options.reports_behaviour = FiltersSampling(config);
  options.drops = config.lora.r > 0 && config.lora.dropout > 0;
  options.slots = config.execution.decode_slots;
  if (config.environment.name == kProcess) options.askers = config.execution.process_count;
  options.seed = static_cast<uint64_t>(config.run.seed);
  options.purpose = Purpose::kSampling;
  return options;
}

models::GenerateOptions MakeEvaluationOptions(const Config& config, const models::Tokenizer& tokenizer,
                                              const TurnRules& rules, int64_t step, int ranks) {
  models::GenerateOptions options = MakeGenerateOptions(config, tokenizer, rules);
  options.num_generations = config.evaluation.num_generations;
  options.purpose = Purpose::kEvaluationSampling;
  options.drops = false;
  options.step = static_cast<uint64_t>(step);
  const int64_t of_training = config.rollout.prompts_per_step * config.rollout.num_generations;
  if (options.slots == 0) options.slots = (of_training + ranks - 1) / ranks;
  return options;
}

}  // namespace reprise::rl
