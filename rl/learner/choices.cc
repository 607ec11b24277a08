#include "rl/learner/choices.h"

#include "core/status/status_macros.h"
#include "rl/config/algorithm_choice.h"

namespace reprise::rl {

absl::StatusOr<Choices> ChoicesOf(const Config& config) {
  ASSIGN_OR_RETURN(AlgorithmRow row, AlgorithmOf(config.algorithm));
  row.loss.max_completion_length = config.rollout.max_completion_length;
  Choices choices = {row.advantage, row.loss, {}, {}};
  ASSIGN_OR_RETURN(choices.schedule.schedule, ParseSchedule(config.optimizer.schedule));
  choices.schedule.learning_rate = config.optimizer.learning_rate;
  choices.schedule.warmup_steps = config.optimizer.warmup_steps;
  choices.schedule.total_steps = config.run.steps;
  choices.adamw = {config.optimizer.beta1, config.optimizer.beta2, config.optimizer.epsilon,
                   config.optimizer.weight_decay, config.optimizer.max_grad_norm};
  return choices;
}

GenerateOptions GenerateOptionsOf(const Config& config, const std::vector<int32_t>& end_tokens) {
  GenerateOptions options;
  options.num_generations = config.rollout.num_generations;
  options.max_completion_length = config.rollout.max_completion_length;
  options.sampling.temperature = static_cast<float>(config.rollout.temperature);
  options.sampling.top_k = config.rollout.top_k;
  options.sampling.top_p = static_cast<float>(config.rollout.top_p);
  options.end_tokens = end_tokens;
  options.slots = config.execution.decode_slots;
  options.seed = static_cast<uint64_t>(config.run.seed);
  options.purpose = Purpose::kSampling;
  return options;
}

MetricInputs MetricInputsOf(const Config& config, const Choices& choices) {
  MetricInputs inputs;
  inputs.num_generations = config.rollout.num_generations;
  inputs.reward_functions = {config.algorithm.reward};
  inputs.reward_weights_F = {1.0};
  inputs.loss = choices.loss;
  inputs.reward_beta = choices.advantage.reward_beta;
  return inputs;
}

}  // namespace reprise::rl
