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

namespace {

absl::StatusOr<KlOptions> KlOptionsOf(const Config& config, double beta) {
  const AlgorithmConfig& algorithm = config.algorithm;
  KlOptions kl;
  ASSIGN_OR_RETURN(kl.schedule, ParseKlSchedule(algorithm.kl_schedule));
  kl.initial = beta;
  kl.final = algorithm.final_beta;
  kl.total_updates = std::max<int64_t>(config.run.steps, 1);
  kl.target = algorithm.kl_target;
  kl.horizon = algorithm.kl_horizon;
  kl.tolerance = algorithm.kl_tolerance;
  kl.rate = algorithm.kl_rate;
  kl.low = algorithm.kl_low;
  kl.high = algorithm.kl_high;
  kl.interval = algorithm.kl_interval;
  kl.patience = algorithm.kl_patience;
  RETURN_IF_ERROR(WithContext(ValidateKlOptions(kl), "[algorithm]"));
  return kl;
}

}  // namespace

absl::StatusOr<Choices> ChoicesOf(const Config& config) {
  const AlgorithmConfig& algorithm = config.algorithm;
  ASSIGN_OR_RETURN(AlgorithmRow row, AlgorithmOf(algorithm));
  ASSIGN_OR_RETURN(const RewardChoice rewards, RewardsOf(algorithm));
  row.loss.max_completion_length = config.rollout.max_completion_length;
  Choices choices;
  choices.signal = {row.advantage, rewards.weights_F, algorithm.mask_truncated_completions, algorithm.dynamic_sampling};
  if (algorithm.turn_rewards == "turn") {
    const auto place = std::find(rewards.functions.begin(), rewards.functions.end(), kEnvironmentReward);
    choices.signal.turn_rewards = {static_cast<size_t>(place - rewards.functions.begin()),
                                   config.environment.turn_reward};
  }
  choices.signal.drops_invalid = ActionCheckOptionsOf(config.environment).drops_invalid;
  choices.loss = row.loss;
  choices.kl_in_reward = KlInReward(row);
  choices.update = row.update;
  choices.value = row.value;
  choices.correction = row.correction;
  choices.entropy = {.entropy_coef = algorithm.entropy_coef,
                     .decay = algorithm.entropy_coef_decay,
                     .floor = algorithm.entropy_coef_floor,
                     .adaptive = algorithm.use_adaptive_entropy,
                     .target = algorithm.entropy_target,
                     .delta = algorithm.entropy_coef_delta,
                     .min = algorithm.entropy_coef_min,
                     .max = algorithm.entropy_coef_max};
  ASSIGN_OR_RETURN(choices.kl, KlOptionsOf(config, Beta(row)));
  choices.baseline_decay = algorithm.baseline_decay;
  choices.prompt_baselines = {row.advantage.baseline,
                              {algorithm.beta1, algorithm.filter_all_incorrect},
                              algorithm.num_value_samples,
                              row.advantage.reward_clip_range};
  choices.reference_sync_steps = algorithm.sync_ref_model ? algorithm.ref_model_sync_steps : 0;
  choices.reference_mixup_alpha = algorithm.ref_model_mixup_alpha;
  ASSIGN_OR_RETURN(choices.schedule.schedule, ParseSchedule(config.optimizer.schedule));
  choices.schedule.learning_rate = config.optimizer.learning_rate;
  choices.schedule.warmup_steps = config.optimizer.warmup_steps;
  choices.schedule.total_steps = config.run.steps;
  choices.schedule.warmup_start = config.optimizer.warmup_start;
  choices.schedule.min_lr_rate = config.optimizer.min_lr_rate;
  choices.schedule.warmup_ratio = config.optimizer.warmup_ratio;
  choices.adamw = {config.optimizer.beta1,         config.optimizer.beta2,
                   config.optimizer.epsilon,       config.optimizer.weight_decay,
                   config.optimizer.max_grad_norm, config.optimizer.weight_decay_on == "matrices"};
  return choices;
}

bool CheckpointsAreStates(const Config& config, const Choices& choices) {
  if (HasSchedules(choices) || TracksBest(config.evaluation)) return false;
  return !NeedsReference(choices) || (config.warm_up.steps == 0 && choices.reference_sync_steps == 0);
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

namespace {

bool HasUnscorable(const RewardOptions& rewards) {
  return std::find(rewards.names_F.begin(), rewards.names_F.end(), kProcessReward) != rewards.names_F.end();
}

// Whether a step may make fewer updates than it has minibatches: by ending early, or where none of their tokens counts.
bool MayLackUpdates(const Config& config, const Choices& choices, const RewardOptions& rewards) {
  return choices.update.target_kl > 0 || choices.signal.mask_truncated_completions || choices.signal.dynamic_sampling ||
         choices.signal.advantage.baseline == Baseline::kOptimal || ChecksActions(config.environment) ||
         HasUnscorable(rewards);
}

}  // namespace

MetricInputs MetricInputsOf(const Config& config, const Choices& choices, const RewardOptions& rewards) {
  MetricInputs inputs;
  inputs.num_generations = config.rollout.num_generations;
  inputs.reward_functions = rewards.names_F;
  inputs.reward_weights_F = rewards.weights_F;
  inputs.loss = choices.loss;
  inputs.reward_beta = choices.signal.advantage.reward_beta;
  inputs.reward_kl_estimator = choices.signal.advantage.reward_kl_estimator;
  inputs.kl_coefficient_varies = choices.kl.schedule != KlSchedule::kFixed;
  inputs.tells_of_entropy_bonus = choices.loss.entropy_coef != 0 || choices.entropy.adaptive;
  inputs.has_optimal_values = choices.signal.advantage.baseline == Baseline::kOptimal;
  inputs.num_updates_varies = MayLackUpdates(config, choices, rewards);
  inputs.has_corrections = choices.correction.mode != ImportanceMode::kNone;
  inputs.has_values = HasValues(choices);
  inputs.drops_invalid = choices.signal.drops_invalid;
  inputs.has_leave_one_out = choices.signal.advantage.baseline == Baseline::kLeaveOneOut;
  inputs.baseline_over_batch = choices.signal.advantage.baseline_over_batch;
  inputs.reward_clip_range = choices.signal.advantage.reward_clip_range;
  inputs.tells_of_episodes = config.algorithm.episode_metrics;
  inputs.tells_of_unscorable = HasUnscorable(rewards);
  inputs.tells_of_tools = config.environment.max_tool_calls > 0;
  inputs.num_iterations = choices.update.num_iterations;
  inputs.num_mini_batches = choices.update.num_mini_batches;
  return inputs;
}

}  // namespace reprise::rl
