#include "rl/learner/choices.h"

#include <algorithm>
#include <string>

#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/config/algorithm_choice.h"
#include "rl/config/environment_section.h"
#include "rl/config/evaluation_section.h"
#include "rl/config/reward_choice.h"
#include "rl/environments/environments.h"
#include "rl/episodes/action_checks.h"
#include "rl/episodes/turn_rules.h"
#include "rl/record/recorded.h"

namespace reprise::rl {

absl::StatusOr<Choices> ChoicesOf(const Config& config) {
  const OptimizerConfig& optimizer = config.optimizer;
  Choices choices;
  ASSIGN_OR_RETURN(choices.algorithm, AlgorithmOf(config.algorithm));
  choices.algorithm.loss.max_completion_length = config.rollout.max_completion_length;
  choices.algorithm.kl.total_updates = std::max<int64_t>(config.run.steps, 1);
  RETURN_IF_ERROR(WithContext(ValidateKlOptions(choices.algorithm.kl), "[algorithm]"));
  if (config.algorithm.turn_rewards == "turn") {
    ASSIGN_OR_RETURN(const RewardChoice rewards, RewardsOf(config.algorithm));
    const auto place = std::find(rewards.functions.begin(), rewards.functions.end(), kEnvironmentReward);
    choices.turn_rewards = {static_cast<size_t>(place - rewards.functions.begin()), config.environment.turn_reward};
  }
  choices.drops_invalid = ActionCheckOptionsOf(config.environment).drops_invalid;
  ASSIGN_OR_RETURN(const Schedule schedule, ParseSchedule(optimizer.schedule));
  choices.schedule = {.schedule = schedule,
                      .learning_rate = optimizer.learning_rate,
                      .warmup_steps = optimizer.warmup_steps,
                      .total_steps = config.run.steps,
                      .warmup_start = optimizer.warmup_start,
                      .min_lr_rate = optimizer.min_lr_rate,
                      .warmup_ratio = optimizer.warmup_ratio};
  return choices;
}

bool CheckpointsAreStates(const Config& config, const Choices& choices) {
  const AlgorithmRow& algorithm = choices.algorithm;
  if (HasSchedules(algorithm) || TracksBest(config.evaluation)) return false;
  return !NeedsReference(algorithm) || (config.warm_up.steps == 0 && algorithm.reference.sync_steps == 0);
}

absl::StatusOr<RewardOptions> RewardOptionsOf(const Config& config, RewardFunction reward,
                                              const std::vector<int32_t>& end_tokens) {
  ASSIGN_OR_RETURN(const RewardChoice choice, RewardsOf(config.algorithm));
  RewardOptions options;
  for (const std::string& name : choice.functions) {
    if (name == kEnvironmentReward || name == kProcessReward) {
      options.functions.push_back(nullptr);
      continue;
    }
    ASSIGN_OR_RETURN(const RewardFunction named, FindReward(name));
    options.functions.push_back(reward == nullptr ? named : reward);
  }
  options.names_F = choice.names_F;
  options.weights_F = choice.weights_F;
  options.max_completion_length = config.rollout.max_completion_length;
  options.soft_punish_cache = config.algorithm.soft_punish_cache;
  options.missing_eos_penalty = config.algorithm.missing_eos_penalty;
  options.turn_reward = config.environment.turn_reward;
  ASSIGN_OR_RETURN(options.rules, TurnRulesOf(config, end_tokens));
  return options;
}

GenerateOptions GenerateOptionsOf(const Config& config, const models::Tokenizer& tokenizer, const TurnRules& rules) {
  GenerateOptions options;
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
  options.tells_behaviour = FiltersSampling(config.rollout);
  options.slots = config.execution.decode_slots;
  if (config.environment.name == kProcess) options.askers = config.execution.process_count;
  options.seed = static_cast<uint64_t>(config.run.seed);
  options.purpose = Purpose::kSampling;
  return options;
}

}  // namespace reprise::rl
