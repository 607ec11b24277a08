#include "rl/config/check.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/algorithm/token_advantages.h"
#include "rl/config/algorithm_check.h"
#include "rl/config/evaluation_check.h"
#include "rl/config/extension.h"
#include "rl/config/reward_choice.h"
#include "rl/config/workload_traits.h"
#include "rl/schedule/rate_factors.h"
#include "rl/workloads/completions/section/environment_section.h"

namespace reprise::rl {
namespace {

// Keeps every index over a step's completions well within 32 bits.
constexpr int64_t kMostCompletions = int64_t{1} << 24;
constexpr int64_t kMostShards = 1024;
constexpr int64_t kGreatestOfCountdown = 500'000;

absl::Status CheckRanks(const RunConfig& run, int64_t ranks) {
  if (ranks < 1) return absl::InvalidArgumentError(absl::StrCat(ranks, " ranks: a run needs at least 1"));
  if (ranks <= run.logical_shards) return absl::OkStatus();
  std::string message = absl::StrCat(ranks, " ranks for ", run.logical_shards, " logical shard",
                                     run.logical_shards == 1 ? "" : "s", ": a rank owns at least one; start at most ",
                                     run.logical_shards, " rank", run.logical_shards == 1 ? "" : "s");
  if (ranks <= kMostShards) {
    absl::StrAppend(&message, ", or set run.logical_shards to ", std::bit_ceil(static_cast<uint64_t>(ranks)),
                    ", which gives a different run with different bits");
  }
  return absl::InvalidArgumentError(message);
}

absl::Status CheckSizes(const Config& config) {
  if (config.data.min_length > config.data.max_length) {
    return absl::InvalidArgumentError(absl::StrCat("data.min_length ", config.data.min_length,
                                                   " is more than data.max_length ", config.data.max_length));
  }
  if (config.rollout.min_new_tokens >= config.rollout.max_completion_length) {
    return absl::InvalidArgumentError(absl::StrCat("rollout.min_new_tokens ", config.rollout.min_new_tokens,
                                                   " leaves no room for an end token within "
                                                   "rollout.max_completion_length ",
                                                   config.rollout.max_completion_length));
  }
  // Every action of an environment is sampled with at least that many tokens.
  const int64_t action = config.environment.max_action_length;
  if (!config.environment.name.empty() && action > 0 && config.rollout.min_new_tokens >= action) {
    return absl::InvalidArgumentError(absl::StrCat("rollout.min_new_tokens ", config.rollout.min_new_tokens,
                                                   " leaves no room for an end token within "
                                                   "environment.max_action_length ",
                                                   action));
  }
  const int64_t completions = config.rollout.prompts_per_step * config.rollout.num_generations;
  if (completions > kMostCompletions) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rollout.prompts_per_step ", config.rollout.prompts_per_step, " with rollout.num_generations ",
        config.rollout.num_generations, " are ", completions, " completions a step; at most ", kMostCompletions));
  }
  return absl::OkStatus();
}

// In a group of one every advantage would be 0.
absl::Status CheckGroups(const Config& config) {
  if (config.rollout.num_generations > 1) return absl::OkStatus();
  const AlgorithmConfig& row = config.algorithm;
  const AdvantageOptions& options = row.advantage;
  if (options.baseline_over_batch && !config.algorithm.dynamic_sampling) {
    if (config.rollout.prompts_per_step > 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "algorithm.baseline_scope batch compares the completions of a step with each other, but "
        "rollout.prompts_per_step 1 with rollout.num_generations 1 gives a single one: set one of them to 2 or more");
  }
  const Baseline baseline = options.baseline;
  const bool scales = options.scale_rewards == ScaleRewards::kGroup && baseline != Baseline::kValue &&
                      baseline != Baseline::kStepLeaveOneOut && baseline != Baseline::kStepNone;
  const bool keeps = options.lone_sample_keeps_reward && !options.whiten_tokens;
  const bool of_group =
      (ByStep(options) && baseline != Baseline::kStepNone) || (!keeps && (baseline == Baseline::kGroupMean || scales));
  if (of_group || baseline == Baseline::kLeaveOneOut || baseline == Baseline::kLengthWeighted ||
      config.algorithm.dynamic_sampling) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rollout.num_generations is 1, and algorithm.baseline ", BaselineName(baseline),
        config.algorithm.dynamic_sampling ? " with algorithm.dynamic_sampling"
        : scales                          ? " with algorithm.scale_rewards group"
                                          : "",
        " compares the completions of a prompt with each other: set it to 2 or more, or algorithm.name to ppo, "
        "reinforce or reinforce_plus_plus"));
  }
  return absl::OkStatus();
}

// Compares the number of minibatches, or their size, with what a step deals to them.
absl::Status CheckMinibatches(const Config& config) {
  const UpdateOptions& update = config.algorithm.update;
  const bool by_size = update.mini_batch_size > 0;
  if (by_size && update.num_mini_batches > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "algorithm.mini_batch_size ", update.mini_batch_size, " and algorithm.num_mini_batches ",
        update.num_mini_batches, " are both set, and each decides how a step is split: remove one of them"));
  }
  const int64_t value = by_size ? update.mini_batch_size : update.num_mini_batches;
  const int64_t dealt = MinibatchUnits(config);
  if (value <= dealt) return absl::OkStatus();
  constexpr absl::string_view kOfEpisodes =
      " completions of a step (rollout.prompts_per_step x rollout.num_generations)";
  constexpr absl::string_view kOfGroups =
      " prompts of a step (rollout.prompts_per_step); algorithm.minibatches_of episodes deals completions one by one";
  const std::string what = update.unit == MinibatchUnit::kGroup ? std::string(kOfGroups)
                           : update.unit == MinibatchUnit::kEpisode
                               ? std::string(kOfEpisodes)
                               : absl::StrCat(
                                     " decisions that a step can have "
                                     "(rollout.prompts_per_step x rollout.num_generations "
                                     "episodes of at most ",
                                     Traits(config).most_decisions(config), ")");
  return absl::InvalidArgumentError(absl::StrCat("algorithm.", by_size ? "mini_batch_size " : "num_mini_batches ",
                                                 value, " is more than the ", dealt, what));
}

absl::Status CheckUpdates(const Config& config) {
  const AlgorithmConfig& algorithm = config.algorithm;
  RETURN_IF_ERROR(CheckMinibatches(config));
  if (algorithm.reward.soft_punish_cache > config.rollout.max_completion_length) {
    return absl::InvalidArgumentError(absl::StrCat("algorithm.soft_punish_cache ", algorithm.reward.soft_punish_cache,
                                                   " is more than rollout.max_completion_length ",
                                                   config.rollout.max_completion_length));
  }
  // Its change of the coefficient is at most a fifth for each kl_horizon completions (rl/schedule/kl_coefficient.h).
  const int64_t completions = config.rollout.prompts_per_step * config.rollout.num_generations;
  if (algorithm.kl.schedule == KlSchedule::kProportional &&
      algorithm.kl.horizon * 5 <= static_cast<double>(completions)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "algorithm.kl_horizon ", algorithm.kl.horizon,
        " would make the weight of the divergence negative in one step "
        "of ",
        completions, " completions (rollout.prompts_per_step x rollout.num_generations): set it to more than ",
        static_cast<double>(completions) / 5));
  }
  if (algorithm.kl.low > algorithm.kl.high) {
    return absl::InvalidArgumentError(
        absl::StrCat("algorithm.kl_low ", algorithm.kl.low, " is more than algorithm.kl_high ", algorithm.kl.high));
  }
  if (algorithm.entropy.min > algorithm.entropy.max) {
    return absl::InvalidArgumentError(absl::StrCat("algorithm.entropy_coef_min ", algorithm.entropy.min,
                                                   " is more than algorithm.entropy_coef_max ", algorithm.entropy.max));
  }
  if (algorithm.entropy.adaptive && algorithm.entropy.entropy_coef > algorithm.entropy.max) {
    return absl::InvalidArgumentError(absl::StrCat("algorithm.entropy_coef ", algorithm.entropy.entropy_coef,
                                                   " is more than algorithm.entropy_coef_max ", algorithm.entropy.max,
                                                   ", which use_adaptive_entropy keeps to"));
  }
  if (algorithm.entropy.floor > algorithm.entropy.entropy_coef) {
    return absl::InvalidArgumentError(absl::StrCat("algorithm.entropy_coef_floor ", algorithm.entropy.floor,
                                                   " is more than algorithm.entropy_coef ",
                                                   algorithm.entropy.entropy_coef));
  }
  return absl::OkStatus();
}

absl::Status CheckProcess(const Config& config, const RewardChoice& rewards) {
  const bool asks = config.environment.name == "process", scores = rewards.Names(kProcessReward);
  const bool is_named = asks || scores;
  if (is_named != config.process.command.empty()) return absl::OkStatus();
  if (!is_named) {
    return absl::InvalidArgumentError(
        "process.command is set, but neither environment.name nor algorithm.reward is process: it would not be used");
  }
  return absl::InvalidArgumentError(absl::StrCat(asks ? "environment.name is" : "algorithm.reward names",
                                                 " process, but process.command is empty: set it"));
}

// Where each step is compared by its own reward alone, rewards that are given at an episode's end leave all other steps
// with 0, and compare the last step of a short episode with the zeros of longer ones.
absl::Status CheckStepRewards(const Config& config) {
  const AlgorithmConfig& row = config.algorithm;
  if (!ByStep(row.advantage) || row.advantage.gamma != 0 || Traits(config).most_decisions(config) == 1)
    return absl::OkStatus();
  if (EarnsByTurn(config)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "algorithm.name ", row.name, " with algorithm.gamma 0 compares each step by what it earns itself, but ",
      Traits(config).final_reward,
      " gives one reward at the end of an episode: set algorithm.gamma to 1, or algorithm.name to grpo, which gives "
      "every step of an episode its reward"));
}

absl::Status CheckTurnRewards(const Config& config) {
  const AlgorithmConfig& row = config.algorithm;
  RETURN_IF_ERROR(CheckStepRewards(config));
  if (EarnsByTurn(config) && config.algorithm.advantage.reward_clip_range.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("algorithm.reward_clip_range clips an episode's sum of rewards, which ",
                     Traits(config).turn_rewards, " does not use: remove one of them"));
  }
  if (!config.algorithm.reward.by_turn) return absl::OkStatus();
  if (config.environment.name.empty()) {
    return absl::InvalidArgumentError("algorithm.turn_rewards is turn, but there are no turns: set environment.name");
  }
  if (HasTokenReturns(row.advantage)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "algorithm.turn_rewards turn cannot be combined with algorithm.name ", row.name,
      ", whose advantages are per episode: set algorithm.name to ppo, reinforce_plus_plus or agemem, or turn_rewards "
      "to episode"));
}

absl::Status CheckActionKeys(const EnvironmentConfig& environment) {
  if (environment.min_action_tokens <= environment.max_action_tokens) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("environment.min_action_tokens ", environment.min_action_tokens,
                                                 " is more than environment.max_action_tokens ",
                                                 environment.max_action_tokens));
}

absl::Status CheckEnvironment(const Config& config) {
  RETURN_IF_ERROR(CheckActionKeys(config.environment));
  const std::string& name = config.environment.name;
  if (name == "countdown" && config.environment.largest > kGreatestOfCountdown) {
    return absl::InvalidArgumentError(absl::StrCat("environment.largest ", config.environment.largest,
                                                   ": the sum of two numbers of a countdown has six digits at most: "
                                                   "set it to ",
                                                   kGreatestOfCountdown, " or less"));
  }
  ASSIGN_OR_RETURN(const RewardChoice rewards, ParseRewardChoice(config.algorithm.reward));
  RETURN_IF_ERROR(CheckProcess(config, rewards));
  const AlgorithmConfig& row = config.algorithm;
  if (NeedsPromptBaselines(row.advantage) && (name == "process" || rewards.Names(kProcessReward))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "algorithm.baseline ", BaselineName(row.advantage.baseline),
        " plays episodes that are not stored, so that a "
        "replay would have to call the external process of process.command again: choose another baseline, or an "
        "environment and rewards without a process"));
  }
  if (name.empty()) {
    if (!rewards.Names(kEnvironmentReward)) return absl::OkStatus();
    return absl::InvalidArgumentError("algorithm.reward names environment, but there is none: set environment.name");
  }
  if (!config.rollout.stop.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("rollout.stop is set, but the actions of environment.name ", name,
                                                   " end with texts of environment.stop: set that instead"));
  }
  if (!rewards.Names(kEnvironmentReward)) {
    return absl::InvalidArgumentError(absl::StrCat("algorithm.reward is \"", config.algorithm.reward.functions,
                                                   "\", but the rewards of environment.name ", name,
                                                   " are called environment: set it to \"environment\", or name both "
                                                   "(with a weight of 0 in algorithm.reward_weights for one that "
                                                   "shall not "
                                                   "count)"));
  }
  if (!config.data.path.empty() && name != "process") {
    return absl::InvalidArgumentError(
        absl::StrCat("data.path is set, but environment.name ", name, " makes its own tasks: leave it empty"));
  }
  return absl::OkStatus();
}

absl::Status CheckAdapters(const Config& config) {
  if (config.lora.r == 0) return absl::OkStatus();
  if (ChooseValueModel(config.algorithm) != models::ValueModel::kNetwork) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("algorithm.value_model network cannot be combined with lora.r ", config.lora.r,
                   ": its second model would be trained whole; set value_model to head, or lora.r to 0"));
}

absl::Status CheckWorkload(const Config& config) { return Traits(config).check(config); }

absl::Status CheckFromScratch(const Config& config) {
  RETURN_IF_ERROR(WithContext(models::ValidateDecoderConfig(FromScratchDecoder(config.model)), "[model]"));
  if (Traits(config).has_completions && config.rollout.max_completion_length >= config.model.max_position_embeddings) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rollout.max_completion_length ", config.rollout.max_completion_length,
        " leaves no room for a prompt within model.max_position_embeddings ", config.model.max_position_embeddings));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckConfig(const Config& config, int64_t ranks) {
  RETURN_IF_ERROR(CheckRanks(config.run, ranks));
  RETURN_IF_ERROR(EarlierEnds(config.run).status());
  RETURN_IF_ERROR(CheckSizes(config));
  RETURN_IF_ERROR(CheckAlgorithm(config.algorithm));
  RETURN_IF_ERROR(CheckGroups(config));
  RETURN_IF_ERROR(CheckUpdates(config));
  RETURN_IF_ERROR(CheckEnvironment(config));
  RETURN_IF_ERROR(CheckTurnRewards(config));
  RETURN_IF_ERROR(CheckEvaluation(config));
  RETURN_IF_ERROR(CheckWorkload(config));
  RETURN_IF_ERROR(CheckAdapters(config));
  RETURN_IF_ERROR(WithContext(ParseRateFactors(config.optimizer.learning_rate_factors).status(),
                              "optimizer.learning_rate_factors"));
  return config.model.path.empty() ? CheckFromScratch(config) : absl::OkStatus();
}

std::string WarningOfTopK(const RolloutConfig& rollout, int64_t vocab_size) {
  if (rollout.top_k <= vocab_size) return "";
  return absl::StrCat("rollout.top_k ", rollout.top_k, " is more than the model's ", vocab_size,
                      " tokens, so that all of them are drawn from, as with 0");
}

bool HasBf16Weights(const ModelConfig& model) { return model.weights_dtype == WeightsDtype::kBf16; }

models::LoraConfig AdaptersOf(const LoraSection& lora) {
  models::LoraConfig adapters = {.r = lora.r, .alpha = lora.alpha, .dropout = lora.dropout};
  const std::vector<absl::string_view> targets = absl::StrSplit(lora.target_modules, ' ');
  for (size_t module = 0; module < models::kLoraModuleNames.size(); ++module) {
    adapters.targets[module] =
        std::find(targets.begin(), targets.end(), models::kLoraModuleNames[module]) != targets.end();
  }
  return adapters;
}

models::DecoderConfig FromScratchDecoder(const ModelConfig& model) {
  models::DecoderConfig decoder;
  decoder.vocab_size = model.vocab_size;
  decoder.hidden_size = model.hidden_size;
  decoder.intermediate_size = model.intermediate_size;
  decoder.num_hidden_layers = model.num_hidden_layers;
  decoder.num_attention_heads = model.num_attention_heads;
  decoder.num_key_value_heads = model.num_key_value_heads;
  decoder.num_experts = model.num_experts;
  decoder.num_experts_per_tok = model.num_experts_per_tok;
  decoder.max_position_embeddings = model.max_position_embeddings;
  decoder.rope_theta = model.rope_theta;
  decoder.rms_norm_eps = model.rms_norm_eps;
  decoder.clip_qkv = model.clip_qkv;
  decoder.norm_topk_prob = model.norm_topk_prob;
  decoder.tie_word_embeddings = model.tie_word_embeddings;
  if (model.router_aux_loss_coef) decoder.router_aux_loss_coef = *model.router_aux_loss_coef;
  decoder.initializer_range = model.initializer_range;
  decoder.bf16_weights = HasBf16Weights(model);
  return decoder;
}

}  // namespace reprise::rl
