#include "rl/config/algorithm_section.h"

#include <utility>

#include "rl/algorithm/algorithm.h"
#include "rl/loss/options.h"

namespace reprise::rl {
namespace {

using config::Between;
using config::FieldList;
using config::Kind;

using Names = std::vector<absl::string_view>;

constexpr int64_t kMostSteps = (int64_t{1} << 32) - 1;
constexpr int64_t kMostTokens = int64_t{1} << 24;
constexpr int64_t kMostPrompts = int64_t{1} << 24;
constexpr int64_t kMostSamples = int64_t{1} << 16;
constexpr int64_t kMostDecisions = int64_t{1} << 48;

constexpr config::DoubleRange kPositive = {.low = config::kLeastFloat, .high = config::kMostFloat};
// Within these, no exponential of a soft clip exceeds the range of a double (rl/loss/terms.cc).
constexpr config::DoubleRange kTemperature = {.low = config::kLeastFloat, .high = 700};
constexpr config::DoubleRange kPower = {.low = config::kLeastFloat, .high = 32};
constexpr config::DoubleRange kRate = {.low = config::kLeastFloat, .high = 256};
constexpr config::DoubleRange kNotNegative = {.low = 0, .high = config::kMostFloat};
constexpr config::DoubleRange kMinusOneOrNotNegative = {.low = 0, .high = config::kMostFloat, .or_exactly = -1};
// Weights of terms of the loss: a gradient must stay below what is taken for a corruption (core/tensor/bounds.h).
constexpr config::DoubleRange kLossWeight = {.low = 0, .high = 1e9};
constexpr config::DoubleRange kLossWeightOrOwn = {.low = 0, .high = 1e9, .or_exactly = -1};
constexpr config::DoubleRange kShare = {.low = 0, .high = 1};
constexpr config::DoubleRange kDecay = {.low = 0, .high = 1, .without_high = true};
constexpr config::DoubleRange kZeroOrMoreThanOne = {
    .low = 1, .high = config::kMostFloat, .without_low = true, .or_exactly = 0};
// The range of parts of a reward.
constexpr config::DoubleRange kReward = {.low = 0, .high = 1e9};

// Returns the names, and the empty one for the algorithm's own choice.
Names OrOwn(Names names) {
  names.insert(names.begin(), "");
  return names;
}

// The keys of the first release, which are always in the canonical text.
void VisitFirstKeys(FieldList& list, AlgorithmConfig& algorithm) {
  list.Name(
      "name", algorithm.name, AlgorithmNames(),
      "The algorithm: the values of the keys below unless they are set. grpo: as TRL's GRPOTrainer (arXiv 2402.03300); "
      "dapo, dr_grpo, bnpo, gspo, cispo, sapo, luspo, vespo, gmpo: its variants; a2po: as TRL's A2POTrainer (arXiv "
      "2505.20686); rloo: as TRL's RLOOTrainer (arXiv "
      "2402.14740); reinforce, episode_rloo, remax, opo: the plain policy gradient without a ratio, with no "
      "baseline, the group's other completions, the prompt's greedy completion (arXiv 2310.10505) or the "
      "length-weighted mean (arXiv 2505.23585), for num_iterations 1; reinforce_plus_plus and "
      "reinforce_plus_plus_baseline: advantages whitened over all tokens (arXiv 2501.03262); ppo: a value function, as "
      "TRL's PPOTrainer (arXiv 1707.06347); agemem: each step is compared with the same step of the prompt's other "
      "episodes (arXiv 2601.01885). docs/algorithms.md lists each with its equation.");
  list.Name("loss_type", algorithm.loss_type, OrOwn(LossTypeNames()),
            "The term of a token and how terms are averaged; dapo: over all tokens of the step, grpo: within each "
            "completion first; empty = the algorithm's own.");
  list.Name("scale_rewards", algorithm.scale_rewards, {"", "group", "batch", "none"},
            "Advantages are divided by the rewards' standard deviation in the prompt's group, in the step, or not; "
            "empty = the algorithm's own. For baselines except leave_one_out, step_leave_one_out, step_none and value, "
            "without "
            "whiten_tokens; with step_group_mean, the deviation is of each step in the group.");
  list.Double(
      "epsilon", algorithm.epsilon, {.low = 0, .high = 1, .or_exactly = -1},
      "The probability ratio is clipped below at 1 - epsilon, with clip gmpo its logarithm at -epsilon; -1 = the "
      "algorithm's own.");
  list.Double(
      "epsilon_high", algorithm.epsilon_high, kMinusOneOrNotNegative,
      "The probability ratio is clipped above at 1 + epsilon_high (cispo: capped at epsilon_high itself; gmpo: its "
      "logarithm at epsilon_high); -1 = the algorithm's own, which is epsilon unless the algorithm raises it.");
  list.Double("beta", algorithm.beta, kLossWeightOrOwn,
              "Weight of the divergence from the model when training began: k3 added to the loss, or, with loss_type "
              "rloo, k1 subtracted from the reward; 0 = no reference model, -1 = the algorithm's own (rloo 0.05, "
              "reinforce_plus_plus and ppo, which subtract k1 from the reward of each token, 0.01 and 0.05, agemem "
              "0.1, of the exact divergence, others 0).");
  list.Int("num_iterations", algorithm.num_iterations, Between(0, 1024),
           "How many times the updates of one step use all of its completions; 0 = the algorithm's own (ppo and agemem "
           "4, others 1).");
  list.Names("reward", algorithm.reward, {"exact_match", "character_match", "environment", "process"},
             "1 for exactly the expected answer, otherwise 0; the share of its characters that match; the reward of "
             "[environment]; the reward of the external process of process.command; or several, as \"exact_match "
             "character_match\".");
  list.Double("advantage_epsilon", algorithm.advantage_epsilon, kNotNegative,
              "Added to the standard deviation by which advantages are divided.");
}

void VisitRewards(FieldList& list, AlgorithmConfig& algorithm) {
  list.String("reward_weights", algorithm.reward_weights,
              "Weights of several rewards, as \"1 0.5\"; empty = 1 for each.");
  list.Name("multi_objective_aggregation", algorithm.multi_objective_aggregation,
            {"sum_then_normalize", "normalize_then_sum"},
            "Whether several rewards are added before they are normalised, or each is normalised in its group first.");
  list.Int("soft_punish_cache", algorithm.soft_punish_cache, Between(0, kMostTokens),
           "Completions that come closer than this many tokens to rollout.max_completion_length are punished by a "
           "reward that falls from 0 to -1 (arXiv 2503.14476, equation 13); 0 = no punishment.");
  list.Double("missing_eos_penalty", algorithm.missing_eos_penalty, kReward,
              "Subtracted from the reward of a truncated completion.");
  list.String("reward_clip_range", algorithm.reward_clip_range,
              "The least and the greatest reward, as \"-5 5\", to which the sum of the rewards, and its baseline's, is "
              "clipped before a divergence is subtracted from it; empty = not clipped.");
  list.Name("turn_rewards", algorithm.turn_rewards, {"episode", "turn"},
            "The place of the environment's rewards for algorithms whose tokens have their own returns (baseline "
            "value, step_group_mean, step_leave_one_out, step_none, or none with whiten_tokens on): as a sum at the "
            "end of the "
            "episode, or each at the last token of its turn's action, so that later tokens are not credited with it.");
}

void VisitAdvantages(FieldList& list, AlgorithmConfig& algorithm) {
  list.Name(
      "baseline", algorithm.baseline,
      {"", "group_mean", "leave_one_out", "none", "running_mean", "greedy", "length_weighted", "optimal", "value",
       "step_group_mean", "step_leave_one_out", "step_none"},
      "The baseline that is subtracted from a reward: the mean of its prompt's group, of the group's other "
      "completions, nothing, the mean of earlier steps, the reward of the prompt's greedy completion or episode, the "
      "group's mean "
      "weighted by length, the prompt's optimal value, a value function, token by token, or, for each step of an "
      "episode, the mean of the same step over the prompt's completions that have it, or over the others of these, or "
      "nothing: a step is a turn, or a token where there are no turns; empty = the algorithm's own.");
  list.Name("baseline_scope", algorithm.baseline_scope, {"group", "batch"},
            "For baseline leave_one_out: whether the other completions are those of the prompt's group or of the "
            "whole step.");
  list.Double("baseline_decay", algorithm.baseline_decay, kDecay,
              "For baseline running_mean: the weight of the old mean in each step.");
  list.Bool("normalize_advantages", algorithm.normalize_advantages,
            "For baseline leave_one_out: whether advantages become z-scores of the step.");
  list.Int("ddof", algorithm.ddof, Between(0, 1),
           "The standard deviations of scale_rewards divide by the count less this.");
  list.Name("whiten_tokens", algorithm.whiten_tokens, {"", "on", "off"},
            "Whether advantages are whitened over all tokens of the step; empty = the algorithm's own.");
  list.Double(
      "gamma", algorithm.gamma, {.low = 0, .high = 1, .or_exactly = -1},
      "Discount from token to token, for baseline value, and for none with whiten_tokens on; from step to step for "
      "step_group_mean, step_leave_one_out and step_none; -1 = the algorithm's own (agemem 0, others 1). Not read by a "
      "workload whose episodes have one decision.");
  list.Bool("lone_sample_keeps_reward", algorithm.lone_sample_keeps_reward,
            "With num_generations 1: whether the reward itself is the advantage (verl), which is 0 otherwise.");
  list.Bool("dynamic_sampling", algorithm.dynamic_sampling,
            "Whether groups of equal rewards are dropped, also from averages (arXiv 2503.14476, section 3.2; no "
            "others are sampled in their place).");
}

void VisitOptimalAdvantage(FieldList& list, AlgorithmConfig& algorithm) {
  list.Int("num_value_samples", algorithm.optimal.num_samples, Between(1, kMostSamples),
           "For baseline optimal: completions of the reference model for each prompt, from which its optimal value is "
           "estimated (arXiv 2505.20686).");
  list.Double("beta1", algorithm.optimal.beta1, kPositive, "For baseline optimal: the temperature of that estimate.");
  list.Bool(
      "filter_all_incorrect", algorithm.optimal.filter_all_incorrect,
      "For baseline optimal: whether prompts for which all these completions have reward 0 are dropped, also from "
      "averages.");
  list.Double("beta2", algorithm.beta2, kPositive,
              "For clip regression: the log-ratio of policy and reference, times this, is regressed to the advantage.");
}

void VisitValues(FieldList& list, AlgorithmConfig& algorithm) {
  list.Name("value_model", algorithm.value_model, {"head", "network"},
            "For baseline value: a linear head on the policy's last hidden states, through which the value loss trains "
            "the policy's decoder too, or a second decoder with such a head, which is initialized from the policy's.");
  list.Double("lam", algorithm.lam, kShare,
              "For baseline value: lambda of generalized advantage estimation (arXiv 1506.02438). Not read by a "
              "workload whose episodes have one decision.");
  list.Name("value_steps", algorithm.value_steps, {"tokens", "turns"},
            "For baseline value: what gamma and lam count, and what has a value: each token, or each turn of an "
            "episode, all of whose tokens then share its advantage.");
  list.Double("vf_coef", algorithm.vf_coef, kLossWeight, "For baseline value: weight of the value loss.");
  list.Double("cliprange_value", algorithm.cliprange_value, kNotNegative,
              "For baseline value: how far a value may move from its old value before its loss is clipped; 0 = any "
              "distance.");
  list.Bool(
      "whiten_rewards", algorithm.whiten_rewards,
      "For baseline value: whether the rewards of the step's tokens are scaled to a standard deviation of 1, keeping "
      "their mean, before advantages are computed.");
  list.Name("reward_scaling", algorithm.reward_scaling, {"none", "running"},
            "For baseline value: whether the rewards of tokens are divided by their standard deviation over all steps "
            "so far, including this one, and clipped to [-10, 10].");
  list.Bool(
      "bootstrap_truncated", algorithm.bootstrap_truncated,
      "For baseline value: whether the returns of a completion or episode that was truncated (by "
      "rollout.max_completion_length, or a limit of the environment) continue with the value of the state where it "
      "was truncated; false: they end with its rewards, as if it were over (TRL, verl).");
}

void VisitSoftClips(FieldList& list, AlgorithmConfig& algorithm) {
  list.Double("sapo_temperature_pos", algorithm.sapo_temperature_pos, kTemperature,
              "For clip sapo: temperature of the gate for advantages above 0.");
  list.Double("sapo_temperature_neg", algorithm.sapo_temperature_neg, kTemperature,
              "The temperature for other advantages.");
  list.Double("vespo_k_pos", algorithm.vespo.k_pos, kPower,
              "For clip vespo: power of the ratio in the weight for advantages of at least 0.");
  list.Double("vespo_lambda_pos", algorithm.vespo.lambda_pos, kRate, "The rate at which that weight falls.");
  list.Double("vespo_k_neg", algorithm.vespo.k_neg, kPower, "The power for advantages below 0.");
  list.Double("vespo_lambda_neg", algorithm.vespo.lambda_neg, kRate, "The rate for advantages below 0.");
}

void VisitCorrection(FieldList& list, AlgorithmConfig& algorithm) {
  list.Name(
      "importance_correction", algorithm.importance_correction,
      {"none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask"},
      "Weights of the policy term for tokens, or whole completions, that were drawn with other probabilities "
      "than the policy's: the policy's probability divided by that of the draw, capped, or 0 outside the "
      "bounds. They differ where rollout.top_k, top_p or min_new_tokens restrict the draw, where a memory agent "
      "explores (memory.stage1_behaviour), and for thoughts (quiet_star), which never draw the delimiters; elsewhere "
      "every weight is exactly 1 (sampling/importance_sampling_ratio). It costs a forward pass.");
  list.Double("importance_clip_max", algorithm.importance_clip_max, kPositive, "The greatest such weight.");
  list.Double("importance_clip_min", algorithm.importance_clip_min, kNotNegative, "The least such weight; 0 = none.");
}

void VisitClips(FieldList& list, AlgorithmConfig& algorithm) {
  list.Name(
      "clip", algorithm.clip, {"", "two_sided", "cispo", "sapo", "vespo", "none", "reinforce", "gmpo", "regression"},
      "A token's policy term: PPO's clipped ratio, those of these algorithms, the unclipped ratio, the "
      "log-probability without a ratio, the geometric mean of a completion's clipped ratios (arXiv 2507.20673), or "
      "the regression of its log-ratio to the reference (a2po); empty = the algorithm's own.");
  list.Name("aggregation", algorithm.aggregation,
            {"", "grpo", "bnpo", "dr_grpo", "dapo", "luspo", "sum", "sequence_mean", "turn_mean"},
            "The divisor of the sum of the terms: as the loss types of these names, none (sum), or as grpo over "
            "completions with an unmasked token; turn_mean: as grpo, but each turn of an episode has the same weight. "
            "Of an episode's log-probabilities luspo thus uses the sum, grpo the mean over tokens, turn_mean that "
            "over turns; empty = the algorithm's own.");
  list.Name("importance_sampling_level", algorithm.importance_sampling_level, {"", "token", "sequence", "sequence_sum"},
            "The level of a probability ratio: a token, the mean over a completion (arXiv 2507.18071), or its sum, "
            "with "
            "loss_type rloo; empty = the algorithm's own.");
  list.Double("delta", algorithm.delta, kZeroOrMoreThanOne,
              "Cap of the ratio in the unclipped branch (two-sided clipping); 0 = none.");
  list.Double("dual_clip", algorithm.dual_clip, kZeroOrMoreThanOne,
              "Terms of negative advantages are at most this times the advantage (arXiv 1912.09729); 0 = none.");
  list.Double("off_policy_mask_threshold", algorithm.off_policy_mask_threshold, kMinusOneOrNotNegative,
              "Completions of negative advantage whose tokens have become less probable by more than this, in mean "
              "logarithm, are dropped (DeepSeek-V3.2); -1 = none.");
  list.Bool("mask_truncated_completions", algorithm.mask_truncated_completions,
            "Whether truncated completions are excluded from the loss; their rewards count in their groups.");
}

void VisitUpdates(FieldList& list, AlgorithmConfig& algorithm) {
  list.Int("num_mini_batches", algorithm.num_mini_batches, Between(1, kMostPrompts),
           "Updates of each iteration; each iteration deals the step's prompts to them again.");
  list.Int(
      "mini_batch_size", algorithm.mini_batch_size, Between(0, kMostDecisions),
      "In place of num_mini_batches: how many prompts, completions or tokens (minibatches_of) each update has; the "
      "last of an iteration has those that remain; 0 = num_mini_batches applies.");
  list.Name(
      "minibatches_of", algorithm.minibatches_of, {"groups", "episodes", "decisions"},
      "What is dealt to the minibatches: all completions of a prompt together; each completion separately, so that "
      "there may be more minibatches than prompts, and the metrics include loader/...; or each learned token (a "
      "decision of an episode) separately: an update computes the completions of its tokens whole, but its loss, its "
      "averages and its gradient are those of its own tokens. decisions is for losses whose ratios are of tokens.");
  list.Bool(
      "episode_metrics", algorithm.episode_metrics,
      "Whether steps also report metrics of whole episodes: loss/total, rewards/mean, baselines/mean, logprobs/mean "
      "and others (docs/algorithms.md).");
  list.Double("target_kl", algorithm.target_kl, kNotNegative,
              "Early stopping: a step's updates end before the first one at which the policy differs from the "
              "sampling policy by more than 1.5 times this (mean k3 over its completions); 0 = never.");
  list.Name("target_kl_of", algorithm.target_kl_of, {"minibatches", "iterations"},
            "What target_kl is compared with: each minibatch, before its update; or the mean over the minibatches of "
            "an iteration, all of whose updates are made, before the next iteration.");
  list.Bool("diagnostics", algorithm.diagnostics,
            "Whether steps also report the spread of the probability ratios, of advantages before whitening, and how "
            "many iterations were made (docs/algorithms.md); and train warns when one of these, or what the values "
            "explain, is first out of bounds.");
}

void VisitEntropy(FieldList& list, AlgorithmConfig& algorithm) {
  list.Double("top_entropy_quantile", algorithm.top_entropy_quantile, {.low = 0, .high = 1, .without_low = true},
              "Only this share of the tokens, those of highest entropy, has the policy term (arXiv 2506.01939); 1 "
              "= all.");
  list.Double("entropy_coef", algorithm.entropy.entropy_coef, kLossWeight,
              "Weight of the policy's mean entropy, as a bonus; 0 = none.");
  list.Double("entropy_coef_decay", algorithm.entropy.decay, kShare,
              "entropy_coef is multiplied by it after each step.");
  list.Double("entropy_coef_floor", algorithm.entropy.floor, kLossWeight, "Lower bound of entropy_coef.");
  list.Int("entropy_coef_steps", algorithm.entropy.steps, Between(0, kMostSteps),
           "Steps over which entropy_coef goes linearly to entropy_coef_end, in place of entropy_coef_decay; 0 = it "
           "does not.");
  list.Double("entropy_coef_end", algorithm.entropy.end, kLossWeight, "For entropy_coef_steps: the last weight.");
  list.Bool("entropy_floor_by_mask", algorithm.entropy.floor_by_mask,
            "For policies whose actions can be masked: whether entropy_coef_floor is multiplied, for a decision with "
            "fewer than all actions, by ln(all) / ln(allowed), at most 3.");
  list.Bool("use_adaptive_entropy", algorithm.entropy.adaptive,
            "Whether entropy_coef follows the entropy (Skywork-OR1, arXiv 2505.22312): it grows by entropy_coef_delta "
            "after a step whose mean entropy was entropy_target or less and shrinks by it after other steps; the step "
            "after such another step has no bonus.");
  list.Double("entropy_target", algorithm.entropy.target, kNotNegative,
              "For use_adaptive_entropy: the target of a token's mean entropy, in nats.");
  list.Double("entropy_coef_delta", algorithm.entropy.delta, kLossWeight,
              "For use_adaptive_entropy: how much entropy_coef changes after a step.");
  list.Double("entropy_coef_min", algorithm.entropy.min, kLossWeight,
              "For use_adaptive_entropy: the least entropy_coef.");
  list.Double("entropy_coef_max", algorithm.entropy.max, kLossWeight,
              "For use_adaptive_entropy: the greatest entropy_coef.");
}

// The keys that keep the policy near the model from the beginning of training: the divergence's weight over the run.
void VisitKlSchedule(FieldList& list, AlgorithmConfig& algorithm) {
  list.Name("kl_schedule", algorithm.kl.schedule, {"fixed", "linear", "proportional", "banded"},
            "beta over the run: constant, linear to final_beta, in proportion to the distance from kl_target "
            "(arXiv 1909.08593), or by a factor whenever kl_target's band is left.");
  list.Double("final_beta", algorithm.kl.final, kLossWeight, "For linear: beta at the end of the run.");
  list.Double("kl_target", algorithm.kl.target, kPositive,
              "For proportional and banded: the target of a token's mean k1.");
  list.Double("kl_horizon", algorithm.kl.horizon, kPositive, "For proportional: completions over which beta adapts.");
  list.Double("kl_tolerance", algorithm.kl.tolerance, kNotNegative, "For banded: half the width of the band.");
  list.Double("kl_rate", algorithm.kl.rate, {.low = 1, .high = config::kMostFloat}, "For banded: the factor.");
  list.Double("kl_low", algorithm.kl.low, kLossWeight, "For banded: the least beta.");
  list.Double("kl_high", algorithm.kl.high, kLossWeight, "For banded: the greatest beta.");
  list.Int("kl_interval", algorithm.kl.interval, Between(1, kMostSteps),
           "For banded: steps between decisions, each of which follows the mean k1 of these steps.");
  list.Int("kl_patience", algorithm.kl.patience, Between(0, kMostSteps),
           "For banded: steps before the first decision.");
}

// The divergence itself, and the reference model.
void VisitDivergence(FieldList& list, AlgorithmConfig& algorithm) {
  list.Name("kl_estimator", algorithm.kl_estimator, {"", "k1", "k2", "k3", "exact"},
            "The estimator of the divergence, from only the sampled token; exact: the divergence itself, over the "
            "whole vocabulary, for which the reference runs beside every update; it can only be in the loss. Empty "
            "= "
            "the algorithm's own, and k1 in the reward.");
  list.Name("use_bias_correction_kl", algorithm.use_bias_correction_kl, {"", "on", "off"},
            "Whether that estimate is multiplied by the probability ratio; empty = the algorithm's own.");
  list.Name("kl_in_reward", algorithm.kl_in_reward, {"", "on", "off"},
            "Whether the divergence is subtracted from the reward (of the completion, or of each token where tokens "
            "have their own advantages) and not added to the loss; empty = the algorithm's own.");
  list.Bool("sync_ref_model", algorithm.sync_ref_model, "Whether the reference model is updated from the policy.");
  list.Double("ref_model_mixup_alpha", algorithm.ref_model_mixup_alpha, kShare,
              "The policy's share in the reference model at each synchronisation; 1 = the reference becomes the "
              "policy.");
  list.Int("ref_model_sync_steps", algorithm.ref_model_sync_steps, Between(1, kMostSteps),
           "Steps from one synchronisation to the next.");
  VisitKlSchedule(list, algorithm);
}

}  // namespace

void Visit(FieldList& list, AlgorithmConfig& algorithm) {
  list.Section("algorithm", Kind::kSemantic, "How the policy learns from rewarded completions.");
  VisitFirstKeys(list, algorithm);
  for (const auto visit : {VisitRewards, VisitAdvantages, VisitOptimalAdvantage, VisitValues, VisitClips,
                           VisitSoftClips, VisitCorrection, VisitUpdates, VisitEntropy, VisitDivergence}) {
    list.OmittedAtDefaults(visit, algorithm);
  }
}

}  // namespace reprise::rl
