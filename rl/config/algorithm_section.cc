#include "rl/config/algorithm_section.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "rl/algorithm/algorithm.h"
#include "rl/algorithm/token_advantages.h"
#include "rl/config/key_conditions.h"
#include "rl/loss/options.h"

namespace reprise::rl {
namespace {

bool SumsNormalized(const Config& config) {
  return config.algorithm.advantage.multi_objective_aggregation == RewardAggregation::kNormalizeThenSum;
}

bool ComparesInGroups(const Config& config) { return config.algorithm.advantage.baseline == Baseline::kLeaveOneOut; }

// Whether scale_rewards is read.
bool ReadsScaleRewards(const Config& config) {
  if (config.algorithm.advantage.baseline == Baseline::kStepGroupMean) return true;
  return !ByToken(config.algorithm.advantage) && !ComparesInGroups(config) && !SumsNormalized(config);
}

// Whether rewards are divided by a deviation.
bool Scales(const Config& config) {
  return ReadsScaleRewards(config) && config.algorithm.advantage.scale_rewards != ScaleRewards::kNone;
}

bool DividesByDeviation(const Config& config) {
  const bool scores = ComparesInGroups(config) && config.algorithm.advantage.normalize_advantages;
  return scores || SumsNormalized(config) || Scales(config);
}

// Whether the handling of a lone sample matters: in groups of one, which are centred or divided by their own deviation,
// or by that of a step in which a single reward can be scored.
bool HasSingletonGroups(const Config& config) {
  if (config.rollout.num_generations != 1 || ByStep(config.algorithm.advantage)) return false;
  if (ReadsScaleRewards(config) && config.algorithm.advantage.baseline == Baseline::kGroupMean) return true;
  const bool can_be_one =
      config.rollout.prompts_per_step == 1 || config.environment.invalid_episodes == InvalidEpisodes::kDrop ||
      absl::StrContains(config.algorithm.reward.functions, "process") || config.environment.name == "process";
  return Scales(config) && (config.algorithm.advantage.scale_rewards == ScaleRewards::kGroup || can_be_one);
}

// Whether what comes after a decision counts for it: not where it ends the episode.
bool Discounts(const Config& config) {
  return HasTokenReturns(config.algorithm.advantage) && !Traits(config).has_one_decision;
}

// After the first update of a step the policy differs from the sampling policy, which a term without a ratio ignores.
bool UsesRatio(const Config& config) { return EffectiveClip(config.algorithm.loss) != Clip::kReinforce; }

// A row that makes several iterations by itself can be told to make one.
bool ChoosesIterations(const Config& config) {
  const absl::StatusOr<AlgorithmConfig> own = FindAlgorithm(config.algorithm.name);
  return UsesRatio(config) || (own.ok() && own->update.num_iterations > 1);
}

bool HasOptimalValues(const Config& config) { return config.algorithm.advantage.baseline == Baseline::kOptimal; }

constexpr absl::string_view kScale =
    "an algorithm.baseline other than leave_one_out, step_leave_one_out, step_none or value, without whiten_tokens, "
    "and "
    "multi_objective_aggregation sum_then_normalize";
constexpr absl::string_view kOptimal = "algorithm.baseline optimal";
constexpr absl::string_view kOldPolicy =
    "a term with a ratio to the sampling policy: an algorithm.clip other than reinforce, which makes one update a step";

using config::Between;
using config::FieldList;
using config::Kind;

using Names = std::vector<absl::string_view>;

constexpr int64_t kMostTokens = int64_t{1} << 24;
constexpr int64_t kMostPrompts = int64_t{1} << 24;
constexpr int64_t kMostSamples = int64_t{1} << 16;
constexpr int64_t kMostDecisions = int64_t{1} << 48;

constexpr config::DoubleRange kPositive = {.low = config::kLeastFloat, .high = config::kMostFloat};
constexpr config::DoubleRange kNotNegative = {.low = 0, .high = config::kMostFloat};
// Weights of terms of the loss: a gradient must stay below what is taken for a corruption (core/tensor/bounds.h).
constexpr config::DoubleRange kLossWeight = {.low = 0, .high = 1e9};
constexpr config::DoubleRange kShare = {.low = 0, .high = 1};
constexpr config::DoubleRange kDecay = {.low = 0, .high = 1, .without_high = true};
// The range of parts of a reward.
constexpr config::DoubleRange kReward = {.low = 0, .high = 1e9};

size_t PresetIndex(const AlgorithmConfig& algorithm) {
  const std::vector<absl::string_view> names = AlgorithmNames();
  return static_cast<size_t>(std::find(names.begin(), names.end(), algorithm.name) - names.begin());
}

void SetPreset(size_t index, AlgorithmConfig* algorithm) { *algorithm = AlgorithmPresets()[index].algorithm; }

void VisitFirstKeys(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Name(
      "name", config::Through<&PresetIndex, &SetPreset>(algorithm), AlgorithmNames(),
      "The algorithm: a preset of the keys below, whose defaults are its values; this page shows those of grpo. grpo: "
      "as TRL's GRPOTrainer (arXiv 2402.03300); "
      "dapo, dr_grpo, bnpo, gspo, cispo, sapo, luspo, vespo, gmpo: its variants; a2po: as TRL's A2POTrainer (arXiv "
      "2505.20686); rloo: as TRL's RLOOTrainer (arXiv "
      "2402.14740); reinforce, episode_rloo, remax, opo: the plain policy gradient without a ratio, with no "
      "baseline, the group's other completions, the prompt's greedy completion (arXiv 2310.10505) or the "
      "length-weighted mean (arXiv 2505.23585), for num_iterations 1; reinforce_plus_plus and "
      "reinforce_plus_plus_baseline: advantages whitened over all tokens (arXiv 2501.03262); ppo: a value function, as "
      "TRL's PPOTrainer (arXiv 1707.06347); agemem: each step is compared with the same step of the prompt's other "
      "episodes (arXiv 2601.01885). docs/algorithms.md lists each with its equation.");
  VisitTerm(list, algorithm, when);
  list.Name("scale_rewards", algorithm.advantage.scale_rewards, {"group", "batch", "none"},
            "Advantages are divided by the rewards' standard deviation in the prompt's group, in the step, or not. "
            "For baselines except leave_one_out, step_leave_one_out, step_none and value, "
            "without "
            "whiten_tokens; with step_group_mean, the deviation is of each step in the group.")
      .ReadIf(when(ReadsScaleRewards), kScale);
  list.Double("beta", config::Through<&Beta, &SetBeta>(algorithm), kLossWeight,
              "Weight of the divergence from the model when training began: k3 added to the loss, or, with loss_type "
              "rloo, k1 subtracted from the reward; 0 = no reference model. The default is 0, of rloo 0.05, of "
              "reinforce_plus_plus and ppo, which subtract k1 from the reward of each token, 0.01 and 0.05, of agemem "
              "0.1, of the exact divergence.");
  list.Int("num_iterations", algorithm.update.num_iterations, Between(1, 1024),
           "How many times the updates of one step use all of its completions. The default is 1, of ppo and agemem 4.")
      .ReadIf(when(ChoosesIterations), kOldPolicy);
  list.Names("reward", algorithm.reward.functions, {"exact_match", "character_match", "environment", "process"},
             "1 for exactly the expected answer, otherwise 0; the share of its characters that match; the reward of "
             "[environment]; the reward of the external process of process.command; or several, as \"exact_match "
             "character_match\".")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.Double("advantage_epsilon", algorithm.advantage.advantage_epsilon, kNotNegative,
              "Added to the standard deviation by which advantages are divided.")
      .ReadIf(when(DividesByDeviation), "advantages that are divided by a deviation");
}

void VisitRewards(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.String("reward_weights", algorithm.reward.weights,
              "Weights of several rewards, as \"1 0.5\"; empty = 1 for each.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.Name("multi_objective_aggregation", algorithm.advantage.multi_objective_aggregation,
            {"sum_then_normalize", "normalize_then_sum"},
            "Whether several rewards are added before they are normalised, or each is normalised in its group first.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions))
      .ReadIf(when([](const Config& config) { return !ByToken(config.algorithm.advantage); }),
              "algorithm.whiten_tokens false");
  list.Int("soft_punish_cache", algorithm.reward.soft_punish_cache, Between(0, kMostTokens),
           "Completions that come closer than this many tokens to rollout.max_completion_length are punished by a "
           "reward that falls from 0 to -1 (arXiv 2503.14476, equation 13); 0 = no punishment.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.Double("missing_eos_penalty", algorithm.reward.missing_eos_penalty, kReward,
              "Subtracted from the reward of a truncated completion.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.Range("reward_clip_range", algorithm.advantage.reward_clip_range,
             "The least and the greatest reward, as \"-5 5\", to which the sum of the rewards, and its baseline's, is "
             "clipped before a divergence is subtracted from it.");
  list.Name("turn_rewards", algorithm.reward.by_turn, {"episode", "turn"},
            "The place of the environment's rewards for algorithms whose tokens have their own returns (baseline "
            "value, step_group_mean, step_leave_one_out, step_none, or none with whiten_tokens true): as a sum at the "
            "end of the "
            "episode, or each at the last token of its turn's action, so that later tokens are not credited with it.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
}

void VisitAdvantages(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Name(
      "baseline", algorithm.advantage.baseline,
      {"group_mean", "leave_one_out", "none", "running_mean", "greedy", "length_weighted", "optimal", "value",
       "step_group_mean", "step_leave_one_out", "step_none"},
      "The baseline that is subtracted from a reward: the mean of its prompt's group, of the group's other "
      "completions, nothing, the mean of earlier steps, the reward of the prompt's greedy completion or episode, the "
      "group's mean "
      "weighted by length, the prompt's optimal value, a value function, token by token, or, for each step of an "
      "episode, the mean of the same step over the prompt's completions that have it, or over the others of these, or "
      "nothing: a step is a turn, or a token where there are no turns.");
  list.Name("baseline_scope", algorithm.advantage.baseline_over_batch, {"group", "batch"},
            "Whether the other completions are those of the prompt's group or of the "
            "whole step.");
  list.Double("baseline_decay", algorithm.baseline_decay, kDecay, "The weight of the old mean in each step.")
      .ReadIf(when([](const Config& config) { return config.algorithm.advantage.baseline == Baseline::kRunningMean; }),
              "algorithm.baseline running_mean");
  list.Bool("normalize_advantages", algorithm.advantage.normalize_advantages,
            "Whether advantages become z-scores of the step.")
      .ReadIf(when([](const Config& config) { return ComparesInGroups(config); }), "algorithm.baseline leave_one_out");
  list.Int("ddof", algorithm.advantage.ddof, Between(0, 1),
           "The standard deviations of scale_rewards divide by the count less this.")
      .ReadIf(when(Scales), "algorithm.scale_rewards group or batch, and a baseline to which it applies");
  list.Bool("whiten_tokens", algorithm.advantage.whiten_tokens,
            "Whether advantages are whitened over all tokens of the step.");
  list.Double("gamma", algorithm.advantage.gamma, kShare,
              "Discount from token to token, for baseline value, and for none with whiten_tokens true; from step to "
              "step for "
              "step_group_mean, step_leave_one_out and step_none. The default is 1, of agemem 0. Not read by a "
              "workload whose episodes have one decision.")
      .ReadIf(
          when(Discounts),
          "returns of tokens: algorithm.baseline value, step_group_mean, step_leave_one_out or step_none, or none with "
          "whiten_tokens true; and a run.workload whose episodes have several decisions");
  list.Bool("lone_sample_keeps_reward", algorithm.advantage.lone_sample_keeps_reward,
            "Whether the reward itself is the advantage (verl), which is 0 otherwise.")
      .ReadIf(when(HasSingletonGroups),
              "rollout.num_generations 1, and algorithm.baseline group_mean or a deviation of such a group, or of a "
              "step that "
              "can have a single reward, that divides");
  list.Bool("dynamic_sampling", algorithm.dynamic_sampling,
            "Whether groups of equal rewards are dropped, also from averages (arXiv 2503.14476, section 3.2; no "
            "others are sampled in their place).");
}

void VisitOptimalAdvantage(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Int("num_value_samples", algorithm.optimal.num_samples, Between(1, kMostSamples),
           "Completions of the reference model for each prompt, from which its optimal value is "
           "estimated (arXiv 2505.20686).")
      .ReadIf(when(HasOptimalValues), kOptimal);
  list.Double("beta1", algorithm.optimal.beta1, kPositive, "The temperature of that estimate.")
      .ReadIf(when(HasOptimalValues), kOptimal);
  list.Bool("filter_all_incorrect", algorithm.optimal.filter_all_incorrect,
            "Whether prompts for which all these completions have reward 0 are dropped, also from "
            "averages.")
      .ReadIf(when(HasOptimalValues), kOptimal);
}

void VisitValues(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Name("value_model", algorithm.has_value_network, {"head", "network"},
            "A linear head on the policy's last hidden states, through which the value loss trains "
            "the policy's decoder too, or a second decoder with such a head, which is initialized from the policy's.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions))
      .ReadIf(when(HasValues), kValue);
  list.Double("lam", algorithm.advantage.lambda, kShare,
              "Lambda of generalized advantage estimation (arXiv 1506.02438). Not read by a "
              "workload whose episodes have one decision.")
      .ReadIf(when([](const Config& config) { return HasValues(config) && Discounts(config); }),
              "algorithm.baseline value, and a run.workload whose episodes have several decisions");
  list.Name("value_steps", algorithm.advantage.value_of_turns, {"tokens", "turns"},
            "What gamma and lam count, and what has a value: each token, or each turn of an "
            "episode, all of whose tokens then share its advantage.")
      .ReadIf(when([](const Config& config) { return HasValues(config) && HasTurns(config); }),
              "algorithm.baseline value, and turns of several tokens: an environment.name, or run.workload quiet_star");
  list.Double("vf_coef", algorithm.value.vf_coef, kLossWeight, "Weight of the value loss.")
      .ReadIf(when(HasValues), kValue);
  list.Double("cliprange_value", algorithm.value.cliprange_value, kPositive,
              "How far a value may move from its old value before its loss is clipped.")
      .ReadIf(when(HasValues), kValue);
  list.Bool("whiten_rewards", algorithm.advantage.whiten_rewards,
            "Whether the rewards of the step's tokens are scaled to a standard deviation of 1, "
            "keeping "
            "their mean, before advantages are computed.")
      .ReadIf(when(HasValues), kValue);
  list.Name("reward_scaling", algorithm.advantage.scales_by_running_deviation, {"none", "running"},
            "Whether the rewards of tokens are divided by their standard deviation over all steps "
            "so far, including this one, and clipped to [-10, 10].")
      .ReadIf(when(HasValues), kValue);
  list.Bool(
          "bootstrap_truncated", algorithm.advantage.bootstrap_truncated,
          "Whether the returns of a completion or episode that was truncated (by "
          "rollout.max_completion_length, or a limit of the environment) continue with the value of the state where it "
          "was truncated; false: they end with its rewards, as if it were over (TRL, verl).")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_time_limits))
      .ReadIf(when(HasValues), kValue);
}

void VisitUpdates(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Int("num_mini_batches", algorithm.update.num_mini_batches, Between(1, kMostPrompts),
           "Updates of each iteration; each iteration deals the step's prompts to them again.")
      .ReadIf(when(UsesRatio), kOldPolicy);
  list.Int(
          "mini_batch_size", algorithm.update.mini_batch_size, Between(0, kMostDecisions),
          "In place of num_mini_batches: how many prompts, completions or tokens (minibatches_of) each update has; the "
          "last of an iteration has those that remain; 0 = num_mini_batches applies.")
      .ReadIf(when(UsesRatio), kOldPolicy);
  list.Name(
          "minibatches_of", algorithm.update.unit, {"groups", "episodes", "decisions"},
          "What is dealt to the minibatches: all completions of a prompt together; each completion separately, so that "
          "there may be more minibatches than prompts, and the metrics include loader/...; or each learned token (a "
          "decision of an episode) separately: an update computes the completions of its tokens whole, but its loss, "
          "its "
          "averages and its gradient are those of its own tokens. decisions is for losses whose ratios are of tokens.")
      .ReadIf(when([](const Config& config) { return HasMinibatches(config.algorithm.update); }),
              "algorithm.num_mini_batches above 1, or a mini_batch_size");
  list.Bool(
      "episode_metrics", algorithm.episode_metrics,
      "Whether steps also report metrics of whole episodes: loss/total, rewards/mean, baselines/mean, logprobs/mean "
      "and others (docs/algorithms.md).");
  list.Double("target_kl", algorithm.update.target_kl, kNotNegative,
              "Early stopping: a step's updates end before the first one at which the policy differs from the "
              "sampling policy by more than 1.5 times this (mean k3 over its completions); 0 = never.")
      .ReadIf(when([](const Config& config) {
                return config.algorithm.update.num_iterations > 1 || HasMinibatches(config.algorithm.update);
              }),
              "several updates per step: algorithm.num_iterations or num_mini_batches above 1, or a mini_batch_size");
  list.Name("target_kl_of", algorithm.update.target_kl_of, {"minibatches", "iterations"},
            "What target_kl is compared with: each minibatch, before its update; or the mean over the minibatches of "
            "an iteration, all of whose updates are made, before the next iteration.")
      .ReadIf(when([](const Config& config) { return config.algorithm.update.target_kl > 0; }),
              "algorithm.target_kl above 0");
  list.Bool("diagnostics", algorithm.diagnostics,
            "Whether steps also report the spread of the probability ratios, of advantages before whitening, and how "
            "many iterations were made (docs/algorithms.md); and train warns when one of these, or what the values "
            "explain, is first out of bounds.");
}

}  // namespace

void Visit(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Section("algorithm", Kind::kSemantic, "How the policy learns from rewarded completions.");
  VisitFirstKeys(list, algorithm, when);
  VisitRewards(list, algorithm, when);
  VisitAdvantages(list, algorithm, when);
  VisitOptimalAdvantage(list, algorithm, when);
  VisitValues(list, algorithm, when);
  VisitLoss(list, algorithm, when);
  VisitUpdates(list, algorithm, when);
}

}  // namespace reprise::rl
