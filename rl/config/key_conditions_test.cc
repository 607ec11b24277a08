// For each key with a condition, configurations in which something reads it and configurations in which nothing does,
// so that each part of its condition decides at least one of them.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/config/field_list.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/check.h"
#include "rl/config/load.h"

namespace reprise::rl {
namespace {

struct Use {
  const char* keys;                  // separated by spaces, as are the overrides of a configuration
  std::vector<const char*> read_in;  // "algorithm.name=ppo run.workload=quiet_star"; "" is the default configuration
  std::vector<const char*> unread_in;
};

std::vector<std::string> SplitWords(const char* text) { return absl::StrSplit(text, ' ', absl::SkipEmpty()); }

// With what goes with a choice: an environment has a reward, and a process a command.
std::vector<std::string> MakeOverrides(const char* configuration) {
  std::vector<std::string> overrides = SplitWords(configuration);
  const auto names = [&](absl::string_view text) { return absl::StrContains(configuration, text); };
  if (names("environment.name=") && !names("algorithm.reward=")) overrides.emplace_back("algorithm.reward=environment");
  if (names("=process") && !names("process.command=")) overrides.emplace_back("process.command=cat");
  return overrides;
}

// Whether every condition holds, whichever workloads have the key.
bool IsRead(const std::string& name, const config::FieldList& list) {
  const size_t dot = name.find('.');
  const config::Field* const field = list.Find(name.substr(0, dot), name.substr(dot + 1));
  return std::all_of(field->conditions.begin(), field->conditions.end(),
                     [](const config::Condition& each) { return each.is_scope || each.holds(); });
}

// Fails the test for each configuration that cannot be loaded or trained, or in which the keys are not `is_read`.
void ExpectUse(const char* keys, const std::vector<const char*>& configurations, bool is_read) {
  for (const char* const configuration : configurations) {
    SCOPED_TRACE(configuration);
    ASSERT_OK_AND_ASSIGN(ResolvedConfig resolved, LoadConfig("", "c.toml", MakeOverrides(configuration)));
    const absl::Status sound = CheckConfig(resolved.config, 1);
    EXPECT_TRUE(sound.ok() || !is_read) << sound;
    config::FieldList list;
    Visit(list, resolved.config);
    for (const std::string& key : SplitWords(keys)) EXPECT_EQ(IsRead(key, list), is_read) << key;
  }
}

void ExpectUses(const std::vector<Use>& uses) {
  for (const Use& use : uses) {
    ExpectUse(use.keys, use.read_in, true);
    ExpectUse(use.keys, use.unread_in, false);
  }
}

const std::vector<Use>& UsesInAdvantages() {
  static const auto& uses = *new std::vector<Use>{
      {"algorithm.multi_objective_aggregation",
       {"", "algorithm.name=rloo"},
       {"algorithm.name=ppo", "algorithm.name=agemem", "algorithm.name=reinforce_plus_plus"}},
      {"algorithm.scale_rewards",
       {"", "algorithm.name=reinforce", "algorithm.name=agemem algorithm.gamma=1"},
       {"algorithm.name=rloo", "algorithm.name=ppo", "algorithm.name=reinforce_plus_plus",
        "algorithm.name=agemem algorithm.baseline=step_leave_one_out",
        "algorithm.multi_objective_aggregation=normalize_then_sum"}},
      {"algorithm.ddof",
       {"", "algorithm.scale_rewards=batch", "algorithm.name=agemem algorithm.gamma=1 algorithm.scale_rewards=group"},
       {"algorithm.scale_rewards=none", "algorithm.name=reinforce", "algorithm.name=rloo"}},
      {"algorithm.normalize_advantages", {"algorithm.name=rloo"}, {"", "algorithm.name=ppo"}},
      {"algorithm.advantage_epsilon",
       {"", "algorithm.name=rloo algorithm.normalize_advantages=true",
        "algorithm.scale_rewards=none algorithm.multi_objective_aggregation=normalize_then_sum"},
       {"algorithm.scale_rewards=none", "algorithm.name=rloo", "algorithm.name=ppo"}},
      {"algorithm.lone_sample_keeps_reward",
       {"rollout.num_generations=1 algorithm.lone_sample_keeps_reward=true",
        "rollout.num_generations=1 algorithm.scale_rewards=none algorithm.lone_sample_keeps_reward=true",
        "rollout.num_generations=1 algorithm.name=reinforce algorithm.scale_rewards=group "
        "algorithm.lone_sample_keeps_reward=true",
        "rollout.num_generations=1 algorithm.name=reinforce algorithm.scale_rewards=batch rollout.prompts_per_step=1",
        "rollout.num_generations=1 algorithm.name=reinforce algorithm.scale_rewards=batch algorithm.reward=process "
        "process.command=cat",
        "rollout.num_generations=1 algorithm.name=reinforce algorithm.scale_rewards=batch "
        "environment.name=process",
        "rollout.num_generations=1 algorithm.name=reinforce algorithm.scale_rewards=batch "
        "environment.name=grid_navigation environment.invalid_episodes=drop"},
       {"", "algorithm.reward=process", "rollout.num_generations=1 algorithm.name=rloo",
        "rollout.num_generations=1 algorithm.name=reinforce",
        "rollout.num_generations=1 algorithm.name=reinforce algorithm.scale_rewards=batch",
        "rollout.num_generations=1 algorithm.name=agemem algorithm.scale_rewards=group"}},
      {"algorithm.gamma",
       {"algorithm.name=ppo", "algorithm.name=ppo rollout.max_completion_length=1",
        "algorithm.name=agemem algorithm.gamma=1",
        "algorithm.name=agemem algorithm.gamma=1 algorithm.baseline=step_leave_one_out",
        "algorithm.name=agemem algorithm.gamma=1 algorithm.baseline=step_none", "algorithm.name=reinforce_plus_plus"},
       {"", "algorithm.name=rloo", "algorithm.name=reinforce", "algorithm.name=ppo run.workload=bandit"}},
      {"algorithm.lam",
       {"algorithm.name=ppo"},
       {"", "algorithm.name=agemem", "algorithm.name=ppo run.workload=bandit"}},
      {"algorithm.bootstrap_truncated", {"algorithm.name=ppo", "algorithm.name=ppo run.workload=morphogenesis"}, {""}},
      {"algorithm.baseline_decay", {"algorithm.baseline=running_mean"}, {"", "algorithm.name=remax"}},
      {"algorithm.num_value_samples algorithm.beta1 algorithm.filter_all_incorrect",
       {"algorithm.name=a2po"},
       {"", "algorithm.name=opo"}},
      {"algorithm.value_model algorithm.vf_coef algorithm.cliprange_value algorithm.whiten_rewards "
       "algorithm.reward_scaling quiet_star.value_hidden quiet_star.values_train_decoder",
       {"algorithm.name=ppo"},
       {"", "algorithm.name=agemem"}},
      {"algorithm.value_steps",
       {"algorithm.name=ppo environment.name=countdown", "algorithm.name=ppo run.workload=quiet_star"},
       {"algorithm.name=ppo", "environment.name=countdown", "run.workload=quiet_star"}},
  };
  return uses;
}

const std::vector<Use>& UsesInLosses() {
  static const auto& uses = *new std::vector<Use>{
      {"algorithm.aggregation",
       {"", "algorithm.aggregation=turn_mean environment.name=countdown",
        "algorithm.aggregation=turn_mean run.workload=quiet_star"},
       {"algorithm.aggregation=turn_mean"}},
      {"algorithm.importance_sampling_level",
       {"", "algorithm.name=cispo", "algorithm.name=sapo", "algorithm.clip=none",
        "algorithm.name=reinforce algorithm.beta=0.1 algorithm.kl_in_reward=false "
        "algorithm.use_bias_correction_kl=true"},
       {"algorithm.name=reinforce", "algorithm.name=vespo", "algorithm.name=gmpo", "algorithm.name=a2po",
        "algorithm.name=reinforce algorithm.beta=0.1 algorithm.kl_in_reward=false "
        "algorithm.use_bias_correction_kl=false",
        "algorithm.name=reinforce algorithm.beta=0.1 algorithm.kl_in_reward=true"}},
      {"algorithm.epsilon",
       {"", "algorithm.name=gmpo", "algorithm.name=ppo"},
       {"algorithm.name=cispo", "algorithm.name=sapo", "algorithm.name=reinforce"}},
      {"algorithm.epsilon_high",
       {"", "algorithm.name=gmpo", "algorithm.name=cispo"},
       {"algorithm.name=sapo", "algorithm.name=vespo", "algorithm.name=reinforce"}},
      {"algorithm.delta algorithm.dual_clip",
       {"", "algorithm.name=ppo"},
       {"algorithm.name=gmpo", "algorithm.name=cispo", "algorithm.name=reinforce"}},
      {"algorithm.sapo_temperature_pos algorithm.sapo_temperature_neg",
       {"algorithm.name=sapo"},
       {"", "algorithm.name=vespo"}},
      {"algorithm.vespo_k_pos algorithm.vespo_lambda_pos algorithm.vespo_k_neg algorithm.vespo_lambda_neg",
       {"algorithm.name=vespo"},
       {"", "algorithm.name=sapo"}},
      {"algorithm.importance_clip_max algorithm.importance_clip_min",
       {"algorithm.importance_correction=token_truncate"},
       {""}},
      {"algorithm.beta2", {"algorithm.name=a2po"}, {"", "algorithm.name=a2po algorithm.clip=reinforce"}},
      {"algorithm.num_iterations",
       {"", "algorithm.name=reinforce algorithm.clip=none", "algorithm.name=ppo algorithm.clip=reinforce",
        "algorithm.name=agemem algorithm.gamma=1 algorithm.clip=reinforce"},
       {"algorithm.name=reinforce", "algorithm.name=remax", "algorithm.name=opo", "algorithm.name=episode_rloo"}},
      {"algorithm.num_mini_batches algorithm.mini_batch_size",
       {"", "algorithm.name=reinforce algorithm.clip=none"},
       {"algorithm.name=reinforce", "algorithm.name=remax", "algorithm.name=opo", "algorithm.name=episode_rloo",
        "algorithm.name=ppo algorithm.clip=reinforce"}},
      {"algorithm.target_kl",
       {"algorithm.num_iterations=2", "algorithm.num_mini_batches=2", "algorithm.mini_batch_size=4"},
       {""}},
      {"algorithm.target_kl_of",
       {"algorithm.num_iterations=2 algorithm.target_kl=0.1"},
       {"algorithm.num_iterations=2"}},
      {"algorithm.minibatches_of",
       {"algorithm.num_mini_batches=2", "algorithm.mini_batch_size=4"},
       {"", "algorithm.num_iterations=2"}},
  };
  return uses;
}

const std::vector<Use>& UsesInEntropyBonuses() {
  static const auto& uses = *new std::vector<Use>{
      {"algorithm.entropy_coef_steps",
       {"algorithm.entropy_coef=0.1", "algorithm.entropy_coef_end=0.1"},
       {"", "algorithm.entropy_coef=0.1 algorithm.use_adaptive_entropy=true"}},
      {"algorithm.entropy_coef_end",
       {"algorithm.entropy_coef=0.1 algorithm.entropy_coef_steps=9", "algorithm.entropy_coef_steps=9"},
       {"algorithm.entropy_coef=0.1", "algorithm.entropy_coef_steps=9 algorithm.use_adaptive_entropy=true"}},
      {"algorithm.entropy_coef_decay",
       {"algorithm.entropy_coef=0.1"},
       {"", "algorithm.entropy_coef=0.1 algorithm.entropy_coef_steps=9",
        "algorithm.entropy_coef=0.1 algorithm.use_adaptive_entropy=true"}},
      {"algorithm.entropy_floor_by_mask",
       {"run.workload=bandit algorithm.entropy_coef=0.1 algorithm.entropy_coef_floor=0.01",
        "run.workload=morphogenesis algorithm.entropy_coef=0.1 algorithm.entropy_coef_floor=0.01"},
       {"run.workload=bandit algorithm.entropy_coef=0.1", "run.workload=bandit algorithm.entropy_coef_floor=0.01",
        "algorithm.entropy_coef=0.1 algorithm.entropy_coef_floor=0.01",
        "run.workload=memory_agent algorithm.entropy_coef=0.1 algorithm.entropy_coef_floor=0.01",
        "run.workload=quiet_star algorithm.entropy_coef=0.1 algorithm.entropy_coef_floor=0.01"}},
      {"algorithm.entropy_coef_floor",
       {"algorithm.entropy_coef=0.1 algorithm.entropy_coef_decay=0.5",
        "algorithm.entropy_coef=0.1 algorithm.entropy_coef_steps=9",
        "run.workload=bandit algorithm.entropy_coef=0.1 algorithm.entropy_floor_by_mask=true"},
       {"algorithm.entropy_coef=0.1", "algorithm.entropy_coef_decay=0.5",
        "algorithm.entropy_coef=0.1 algorithm.entropy_coef_decay=0.5 algorithm.use_adaptive_entropy=true"}},
      {"algorithm.entropy_target algorithm.entropy_coef_delta algorithm.entropy_coef_min algorithm.entropy_coef_max",
       {"algorithm.use_adaptive_entropy=true"},
       {"", "algorithm.entropy_coef=0.1"}},
  };
  return uses;
}

const std::vector<Use>& UsesInDivergences() {
  static const auto& uses = *new std::vector<Use>{
      {"algorithm.kl_schedule algorithm.kl_in_reward algorithm.kl_estimator",
       {"algorithm.beta=0.1", "algorithm.kl_schedule=linear algorithm.final_beta=0.1",
        "algorithm.kl_schedule=banded algorithm.kl_low=0.1"},
       {"", "algorithm.kl_schedule=linear algorithm.final_beta=0", "algorithm.kl_schedule=banded algorithm.kl_low=0",
        "algorithm.kl_schedule=proportional", "algorithm.final_beta=0.1 algorithm.kl_low=0.1"}},
      {"algorithm.use_bias_correction_kl",
       {"algorithm.beta=0.1"},
       {"", "algorithm.beta=0.1 algorithm.kl_in_reward=true", "algorithm.beta=0.1 algorithm.kl_estimator=exact"}},
      {"quiet_star.kl_direction",
       {"algorithm.beta=0.1 algorithm.kl_estimator=exact"},
       {"algorithm.beta=0.1", "algorithm.kl_estimator=exact"}},
      {"algorithm.final_beta", {"algorithm.kl_schedule=linear"}, {"", "algorithm.kl_schedule=banded"}},
      {"algorithm.kl_target",
       {"algorithm.kl_schedule=proportional", "algorithm.kl_schedule=banded"},
       {"", "algorithm.kl_schedule=linear"}},
      {"algorithm.kl_horizon", {"algorithm.kl_schedule=proportional"}, {"", "algorithm.kl_schedule=banded"}},
      {"algorithm.kl_tolerance algorithm.kl_rate algorithm.kl_low algorithm.kl_high algorithm.kl_interval "
       "algorithm.kl_patience",
       {"algorithm.kl_schedule=banded"},
       {"", "algorithm.kl_schedule=proportional"}},
      {"algorithm.sync_ref_model",
       {"algorithm.beta=0.1", "algorithm.kl_schedule=linear algorithm.final_beta=0.1", "algorithm.name=a2po",
        "algorithm.clip=regression"},
       {""}},
      {"algorithm.ref_model_mixup_alpha algorithm.ref_model_sync_steps",
       {"algorithm.beta=0.1 algorithm.sync_ref_model=true"},
       {"algorithm.beta=0.1", "algorithm.sync_ref_model=true"}},
  };
  return uses;
}

const std::vector<Use>& UsesInModelsAndOptimizers() {
  static const auto& uses = *new std::vector<Use>{
      {"model.vocab_size model.words model.hidden_size model.intermediate_size model.num_hidden_layers "
       "model.num_attention_heads model.num_key_value_heads model.num_experts model.num_experts_per_tok "
       "model.max_position_embeddings model.rope_theta model.rms_norm_eps model.norm_topk_prob "
       "model.initializer_range model.clip_qkv",
       {""},
       {"model.path=m"}},
      {"model.tie_word_embeddings", {"", "run.workload=quiet_star"}, {"model.path=m", "run.workload=memory_agent"}},
      {"lora.alpha lora.dropout lora.target_modules", {"lora.r=4"}, {""}},
      {"sft.prompts_per_step sft.learning_rate", {"sft.steps=1"}, {""}},
      {"optimizer.warmup_steps", {""}, {"optimizer.warmup_ratio=0.1"}},
      {"optimizer.warmup_start",
       {"optimizer.warmup_steps=5", "optimizer.warmup_ratio=0.1"},
       {"", "optimizer.warmup_steps=5 optimizer.warmup_form=delay"}},
      {"optimizer.warmup_form", {"optimizer.warmup_steps=5", "optimizer.warmup_ratio=0.1"}, {""}},
      {"optimizer.min_lr_rate", {"", "optimizer.schedule=cosine"}, {"optimizer.schedule=constant"}},
      {"optimizer.fallback_learning_rate optimizer.muon optimizer.grokfast_lambda",
       {"optimizer.name=muon_grokfast"},
       {""}},
      {"optimizer.preset", {"optimizer.preset=phase_1"}, {"", "optimizer.name=muon_grokfast"}},
      {"optimizer.momentum optimizer.nesterov optimizer.ns_steps optimizer.muon_scale",
       {"optimizer.name=muon_grokfast"},
       {"", "optimizer.name=muon_grokfast optimizer.muon=false"}},
      {"optimizer.grokfast_alpha optimizer.grokfast_start optimizer.grokfast_amplifies",
       {"optimizer.name=muon_grokfast"},
       {"", "optimizer.name=muon_grokfast optimizer.grokfast_lambda=0"}},
      {"optimizer.qk_clip_threshold", {"optimizer.name=muon_grokfast"}, {"", "optimizer.name=muon_grokfast lora.r=4"}},
      {"optimizer.weight_decay_on",
       {"optimizer.weight_decay=0.1", "optimizer.weight_decay=0.1 optimizer.weight_decay_on=values algorithm.name=ppo",
        "optimizer.weight_decay=0.1 optimizer.weight_decay_on=values algorithm.name=ppo run.workload=bandit"},
       {"", "optimizer.weight_decay=0.1 optimizer.weight_decay_on=values",
        "optimizer.weight_decay=0.1 optimizer.weight_decay_on=values algorithm.name=ppo run.workload=memory_agent",
        "optimizer.weight_decay=0.1 optimizer.weight_decay_on=values algorithm.name=ppo run.workload=quiet_star"}},
  };
  return uses;
}

const std::vector<Use>& UsesInEnvironmentsAndEvaluations() {
  static const auto& uses = *new std::vector<Use>{
      {"environment.max_turns environment.max_action_length environment.stop environment.turn_reward",
       {"environment.name=countdown"},
       {""}},
      {"environment.largest",
       {"environment.name=countdown", "environment.name=number_guess"},
       {"", "environment.name=grid_navigation"}},
      {"environment.numbers", {"environment.name=countdown"}, {"", "environment.name=number_guess"}},
      {"environment.kinds environment.observation environment.action_mask environment.invalid_episodes",
       {"environment.name=grid_navigation"},
       {"", "environment.name=countdown"}},
      {"environment.feature_bins",
       {"environment.name=process", "environment.name=grid_navigation environment.observation=features"},
       {"", "environment.name=grid_navigation"}},
      {"environment.max_tool_calls",
       {"environment.name=grid_navigation", "environment.name=process"},
       {"", "environment.name=countdown"}},
      {"environment.tool_call_refusal",
       {"environment.name=grid_navigation environment.max_tool_calls=2"},
       {"environment.name=grid_navigation", "environment.name=countdown environment.max_tool_calls=2"}},
      {"environment.min_action_tokens environment.max_action_tokens",
       {"environment.name=grid_navigation environment.action_mask=action",
        "environment.name=grid_navigation environment.invalid_episodes=drop"},
       {"", "environment.name=grid_navigation"}},
      {"data.task data.min_length data.max_length",
       {"", "environment.name=process"},
       {"data.path=x", "environment.name=countdown", "environment.name=process data.path=x"}},
      {"data.alphabet_size",
       {"", "environment.name=process"},
       {"data.task=addition", "data.path=x", "environment.name=countdown"}},
      {"rollout.truncation_side", {"rollout.max_prompt_length=9"}, {""}},
      {"evaluation.keep_best", {"evaluation.every=2"}, {""}},
      {"evaluation.split_seed",
       {"evaluation.held_out_share=0.5", "evaluation.path=x data.path=y"},
       {"", "data.path=y"}},
      {"artifact.keep_checkpoints",
       {"artifact.checkpoint_every=2", "run.steps=9 run.extended_at=\"4\""},
       {"", "run.steps=9"}},
      {"evaluation.metric_for_best_model evaluation.greater_is_better evaluation.early_stopping_threshold",
       {"evaluation.every=2", "evaluation.every=2 evaluation.keep_best=false evaluation.early_stopping_patience=1"},
       {"", "evaluation.every=2 evaluation.keep_best=false"}},
      {"evaluation.reward_window",
       {"evaluation.every=2 evaluation.metric_for_best_model=reward_moving_average",
        "run.workload=quiet_star quiet_star.paper_metrics=true"},
       {"", "evaluation.every=2"}},
      {"execution.process_time_limit execution.process_restarts execution.process_count",
       {"algorithm.reward=process", "environment.name=process"},
       {""}},
  };
  return uses;
}

const std::vector<Use>& UsesInOtherWorkloads() {
  static const auto& uses = *new std::vector<Use>{
      {"memory.stage1_behaviour",
       {"run.workload=memory_agent memory.stage1_steps=1"},
       {"run.workload=memory_agent memory.stage1_steps=0"}},
      {"memory.stage2_behaviour",
       {"run.workload=memory_agent memory.stage2_steps=1"},
       {"run.workload=memory_agent memory.stage2_steps=0"}},
      {"memory.stage3_behaviour",
       {"run.workload=memory_agent memory.stage3_steps=1"},
       {"run.workload=memory_agent memory.stage3_steps=0"}},
      {"memory.store_size",
       {"run.workload=memory_agent memory.task=facts memory.buffer_size=4 memory.optimal_retrieved=2 "
        "memory.context_window=160"},
       {"run.workload=memory_agent memory.task=notes"}},
      {"memory.recall_bonus",
       {"run.workload=memory_agent memory.task=notes"},
       {"run.workload=memory_agent memory.task=facts"}},
      {"memory.answer_reward",
       {"run.workload=memory_agent memory.task=facts memory.buffer_size=4 memory.optimal_retrieved=2 "
        "memory.context_window=160"},
       {"run.workload=memory_agent", "run.workload=memory_agent memory.task=facts memory.reward=agemem"}},
      {"memory.max_rounds",
       {"run.workload=memory_agent memory.reward=agemem"},
       {"run.workload=memory_agent memory.reward=composite"}},
      {"morphogenesis.image_size morphogenesis.base_channels morphogenesis.blocks morphogenesis.augments",
       {"run.workload=morphogenesis morphogenesis.task=cifar10"},
       {"run.workload=morphogenesis morphogenesis.task=tinystories"}},
      {"morphogenesis.block_size morphogenesis.width morphogenesis.heads morphogenesis.layers morphogenesis.dropout",
       {"run.workload=morphogenesis morphogenesis.task=tinystories"},
       {"run.workload=morphogenesis morphogenesis.task=cifar10"}},
      {"quiet_star.injection_threshold quiet_star.injection_interval quiet_star.attention_dispersion",
       {"run.workload=quiet_star quiet_star.positions=difficult"},
       {"run.workload=quiet_star quiet_star.positions=every"}},
      {"quiet_star.bounded_mixing",
       {"run.workload=quiet_star quiet_star.mixing=scalar"},
       {"run.workload=quiet_star quiet_star.mixing=attention"}},
      {"quiet_star.mixing_heads quiet_star.mixing_dropout",
       {"run.workload=quiet_star quiet_star.mixing=attention quiet_star.reward=graded algorithm.name=ppo"},
       {"run.workload=quiet_star quiet_star.mixing=scalar"}},
      {"quiet_star.clamp_rewards",
       {"run.workload=quiet_star quiet_star.reward=non_myopic", "run.workload=quiet_star quiet_star.reward=graded"},
       {"run.workload=quiet_star quiet_star.reward=binary"}},
      {"quiet_star.plain_share quiet_star.baking_examples quiet_star.baking_convergence",
       {"run.workload=quiet_star sft.steps=1"},
       {"run.workload=quiet_star"}},
      {"quiet_star.baking_window",
       {"run.workload=quiet_star sft.steps=1 quiet_star.baking_convergence=0.1"},
       {"run.workload=quiet_star sft.steps=1", "run.workload=quiet_star quiet_star.baking_convergence=0.1"}},
      {"quiet_star.anti_theater_divergence quiet_star.anti_theater_ablation quiet_star.anti_theater_correlation "
       "quiet_star.continuation_tokens quiet_star.anti_theater_patience",
       {"run.workload=quiet_star quiet_star.anti_theater=true"},
       {"run.workload=quiet_star"}},
  };
  return uses;
}

TEST(KeyConditionsTest, KeysOfAdvantagesAreReadAsTheBaselineNeedsThem) { ExpectUses(UsesInAdvantages()); }
TEST(KeyConditionsTest, KeysOfLossesAreReadByTheirClips) { ExpectUses(UsesInLosses()); }
TEST(KeyConditionsTest, KeysOfEntropyBonusesAreReadByTheirSchedules) { ExpectUses(UsesInEntropyBonuses()); }
TEST(KeyConditionsTest, KeysOfDivergencesAreReadOnlyWithADivergence) { ExpectUses(UsesInDivergences()); }
TEST(KeyConditionsTest, KeysOfModelsAndOptimizersAreReadByTheChosenOnes) { ExpectUses(UsesInModelsAndOptimizers()); }
TEST(KeyConditionsTest, KeysOfEnvironmentsAndEvaluationsAreReadByTheChosenOnes) {
  ExpectUses(UsesInEnvironmentsAndEvaluations());
}
TEST(KeyConditionsTest, KeysOfOtherWorkloadsAreReadByTheChosenTasks) { ExpectUses(UsesInOtherWorkloads()); }

TEST(KeyConditionsTest, EveryKeyIsExpectedToBeReadInOneConfigurationAndNotInAnother) {
  std::multiset<std::string> expected, listed;
  for (const auto* uses :
       {&UsesInAdvantages(), &UsesInLosses(), &UsesInEntropyBonuses(), &UsesInDivergences(),
        &UsesInModelsAndOptimizers(), &UsesInEnvironmentsAndEvaluations(), &UsesInOtherWorkloads()}) {
    for (const Use& use : *uses) {
      EXPECT_FALSE(use.read_in.empty() || use.unread_in.empty()) << use.keys;
      for (const std::string& key : SplitWords(use.keys)) expected.insert(key);
    }
  }
  Config config;
  config::FieldList list;
  Visit(list, config);
  for (const config::Field& field : list.fields()) {
    const auto is_condition = [](const config::Condition& each) { return !each.is_scope; };
    if (std::any_of(field.conditions.begin(), field.conditions.end(), is_condition)) listed.insert(field.Name());
  }
  EXPECT_EQ(expected, listed);
}

}  // namespace
}  // namespace reprise::rl
