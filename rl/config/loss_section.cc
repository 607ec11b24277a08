#include "rl/algorithm/algorithm.h"
#include "rl/config/algorithm_section.h"
#include "rl/config/key_conditions.h"
#include "rl/loss/options.h"

namespace reprise::rl {
namespace {

using config::Between;
using config::FieldList;

constexpr int64_t kMostSteps = (int64_t{1} << 32) - 1;
constexpr config::DoubleRange kPositive = {.low = config::kLeastFloat, .high = config::kMostFloat};
// Within these, no exponential of a soft clip exceeds the range of a double (rl/loss/terms.cc).
constexpr config::DoubleRange kTemperature = {.low = config::kLeastFloat, .high = 700};
constexpr config::DoubleRange kPower = {.low = config::kLeastFloat, .high = 32};
constexpr config::DoubleRange kRate = {.low = config::kLeastFloat, .high = 256};
constexpr config::DoubleRange kNotNegative = {.low = 0, .high = config::kMostFloat};
// Weights of terms of the loss: a gradient must stay below what is taken for a corruption (core/tensor/bounds.h).
constexpr config::DoubleRange kLossWeight = {.low = 0, .high = 1e9};
constexpr config::DoubleRange kShare = {.low = 0, .high = 1};
constexpr config::DoubleRange kMoreThanOne = {.low = 1, .high = config::kMostFloat, .without_low = true};

bool HasReference(const Config& config) {
  return HasDivergence(config) || RegressesToReference(config.algorithm.loss) ||
         config.algorithm.advantage.baseline == Baseline::kOptimal;
}

bool EstimatesInLoss(const Config& config) {
  return HasDivergence(config) && !KlInReward(config.algorithm) &&
         config.algorithm.loss.kl_estimator != KlEstimator::kExact;
}

bool HasRatio(const Config& config) {
  const Clip clip = EffectiveClip(config.algorithm.loss);
  const bool has_own = clip == Clip::kTwoSided || clip == Clip::kCispo || clip == Clip::kSapo || clip == Clip::kNone;
  return has_own || (EstimatesInLoss(config) && config.algorithm.loss.use_bias_correction_kl);
}

template <Clip clip>
bool Clips(const Config& config) {
  return EffectiveClip(config.algorithm.loss) == clip;
}

bool HasLowerClip(const Config& config) { return Clips<Clip::kTwoSided>(config) || Clips<Clip::kGmpo>(config); }

bool HasUpperClip(const Config& config) { return HasLowerClip(config) || Clips<Clip::kCispo>(config); }

bool Corrects(const Config& config) { return config.algorithm.correction.mode != ImportanceMode::kNone; }

bool AdaptsEntropy(const Config& config) { return config.algorithm.entropy.adaptive; }

bool DecaysEntropyBonus(const Config& config) {
  return config.algorithm.entropy.entropy_coef != 0 && !config.algorithm.entropy.adaptive;
}

// A bonus of 0 can rise to entropy_coef_end.
bool MayGoLinearly(const Config& config) {
  const EntropyOptions& entropy = config.algorithm.entropy;
  return !entropy.adaptive && (entropy.entropy_coef != 0 || entropy.end != 0);
}

bool GoesLinearly(const Config& config) {
  return !config.algorithm.entropy.adaptive && config.algorithm.entropy.steps > 0;
}

template <KlSchedule schedule>
bool Follows(const Config& config) {
  return config.algorithm.kl.schedule == schedule;
}

bool FollowsDivergence(const Config& config) {
  return Follows<KlSchedule::kProportional>(config) || Follows<KlSchedule::kBanded>(config);
}

bool SyncsReference(const Config& config) { return config.algorithm.reference.sync && HasReference(config); }

constexpr absl::string_view kTwoSided = "algorithm.clip two_sided";
constexpr absl::string_view kVespo = "algorithm.clip vespo";
constexpr absl::string_view kSapo = "algorithm.clip sapo";
constexpr absl::string_view kDivergence = "a divergence: algorithm.beta above 0, or a kl_schedule that becomes nonzero";
constexpr absl::string_view kReference =
    "a reference: algorithm.beta above 0, a kl_schedule that becomes nonzero, baseline optimal or clip regression";
constexpr absl::string_view kAdaptive = "algorithm.use_adaptive_entropy true";
constexpr absl::string_view kBanded = "algorithm.kl_schedule banded";
constexpr absl::string_view kCorrection = "an algorithm.importance_correction";

Clip GetClip(const AlgorithmConfig& algorithm) { return EffectiveClip(algorithm.loss); }
Aggregation GetAggregation(const AlgorithmConfig& algorithm) { return EffectiveAggregation(algorithm.loss); }
LossType GetLossType(const AlgorithmConfig& algorithm) { return algorithm.loss.loss_type; }
double GetEpsilon(const AlgorithmConfig& algorithm) { return algorithm.loss.epsilon; }

void VisitClips(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Name("importance_sampling_level", algorithm.loss.importance_sampling_level,
            {"token", "sequence", "sequence_sum"},
            "The level of a probability ratio: a token, the mean over a completion (arXiv 2507.18071), or its sum, "
            "with "
            "loss_type rloo.")
      .ReadIf(when(HasRatio),
              "algorithm.clip two_sided, cispo, sapo or none, or a divergence in the loss with use_bias_correction_kl "
              "true");
  list.Double("delta", algorithm.loss.delta, kMoreThanOne,
              "Cap of the ratio in the unclipped branch (two-sided clipping).")
      .ReadIf(when(Clips<Clip::kTwoSided>), kTwoSided);
  list.Double("dual_clip", algorithm.loss.dual_clip, kMoreThanOne,
              "Terms of negative advantages are at most this times the advantage (arXiv 1912.09729).")
      .ReadIf(when(Clips<Clip::kTwoSided>), kTwoSided);
  list.Double("off_policy_mask_threshold", algorithm.loss.off_policy_mask_threshold, kNotNegative,
              "Completions of negative advantage whose tokens have become less probable by more than this, in mean "
              "logarithm, are dropped (DeepSeek-V3.2).");
  list.Bool("mask_truncated_completions", algorithm.mask_truncated_completions,
            "Whether truncated completions are excluded from the loss; their rewards count in their groups.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
}

void VisitSoftClips(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Double("sapo_temperature_pos", algorithm.loss.sapo_temperature_pos, kTemperature,
              "Temperature of the gate for advantages above 0.")
      .ReadIf(when(Clips<Clip::kSapo>), kSapo);
  list.Double("sapo_temperature_neg", algorithm.loss.sapo_temperature_neg, kTemperature,
              "The temperature for other advantages.")
      .ReadIf(when(Clips<Clip::kSapo>), kSapo);
  list.Double("vespo_k_pos", algorithm.loss.vespo.k_pos, kPower,
              "Power of the ratio in the weight for advantages of at least 0.")
      .ReadIf(when(Clips<Clip::kVespo>), kVespo);
  list.Double("vespo_lambda_pos", algorithm.loss.vespo.lambda_pos, kRate, "The rate at which that weight falls.")
      .ReadIf(when(Clips<Clip::kVespo>), kVespo);
  list.Double("vespo_k_neg", algorithm.loss.vespo.k_neg, kPower, "The power for advantages below 0.")
      .ReadIf(when(Clips<Clip::kVespo>), kVespo);
  list.Double("vespo_lambda_neg", algorithm.loss.vespo.lambda_neg, kRate, "The rate for advantages below 0.")
      .ReadIf(when(Clips<Clip::kVespo>), kVespo);
  list.Double("beta2", algorithm.loss.regression_beta, kPositive,
              "The log-ratio of policy and reference, times this, is regressed to the advantage.")
      .ReadIf(when(Clips<Clip::kRegression>), "algorithm.clip regression");
}

void VisitCorrection(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Name(
      "importance_correction", algorithm.correction.mode,
      {"none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask"},
      "Weights of the policy term for tokens, or whole completions, that were drawn with other probabilities "
      "than the policy's: the policy's probability divided by that of the draw, capped, or 0 outside the "
      "bounds. They differ where rollout.top_k, top_p or min_new_tokens restrict the draw, where a memory agent "
      "explores (memory.stage1_behaviour), and for thoughts (quiet_star), which never draw the delimiters; elsewhere "
      "every weight is exactly 1 (sampling/importance_sampling_ratio). It costs a forward pass.");
  list.Double("importance_clip_max", algorithm.correction.clip_max, {.low = 1, .high = config::kMostFloat},
              "The greatest such weight.")
      .ReadIf(when(Corrects), kCorrection);
  list.Double("importance_clip_min", algorithm.correction.clip_min, kShare, "The least such weight.")
      .ReadIf(when(Corrects), kCorrection);
}

void VisitEntropy(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Double("top_entropy_quantile", algorithm.loss.top_entropy_quantile, {.low = 0, .high = 1, .without_low = true},
              "Only this share of the tokens, those of highest entropy, has the policy term (arXiv 2506.01939); 1 "
              "= all.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_language_model));
  list.Double("entropy_coef", algorithm.entropy.entropy_coef, kLossWeight,
              "Weight of the policy's mean entropy, as a bonus; 0 = none.");
  list.Double("entropy_coef_decay", algorithm.entropy.decay, kShare,
              "entropy_coef is multiplied by it after each step.")
      .ReadIf(when([](const Config& config) { return DecaysEntropyBonus(config) && !GoesLinearly(config); }),
              "algorithm.entropy_coef above 0, without use_adaptive_entropy and entropy_coef_steps");
  list.Double("entropy_coef_floor", algorithm.entropy.floor, kLossWeight, "Lower bound of entropy_coef.")
      .ReadIf(when([](const Config& config) {
                const EntropyOptions& entropy = config.algorithm.entropy;
                return DecaysEntropyBonus(config) && (entropy.decay < 1 || entropy.steps > 0 || entropy.floor_by_mask);
              }),
              "algorithm.entropy_coef above 0 with entropy_coef_decay below 1 or entropy_coef_steps above 0, without "
              "use_adaptive_entropy");
  list.Int("entropy_coef_steps", algorithm.entropy.steps, Between(0, kMostSteps),
           "Steps over which entropy_coef goes linearly to entropy_coef_end, in place of entropy_coef_decay; 0 = it "
           "does not.")
      .ReadIf(when(MayGoLinearly), "algorithm.entropy_coef or entropy_coef_end above 0, without use_adaptive_entropy");
  list.Double("entropy_coef_end", algorithm.entropy.end, kLossWeight, "The last weight.")
      .ReadIf(when(GoesLinearly), "algorithm.entropy_coef_steps above 0, without use_adaptive_entropy");
  list.Bool("entropy_floor_by_mask", algorithm.entropy.floor_by_mask,
            "For policies whose actions can be masked: whether entropy_coef_floor is multiplied, for a decision with "
            "fewer than all actions, by ln(all) / ln(allowed), at most 3.")
      .ReadIf(when([](const Config& config) {
                return DecaysEntropyBonus(config) && config.algorithm.entropy.floor > 0 && Traits(config).masks_actions;
              }),
              "algorithm.entropy_coef_floor above 0, and a run.workload whose actions are masked");
  list.Bool("use_adaptive_entropy", algorithm.entropy.adaptive,
            "Whether entropy_coef follows the entropy (Skywork-OR1, arXiv 2505.22312): it grows by entropy_coef_delta "
            "after a step whose mean entropy was entropy_target or less and shrinks by it after other steps; the step "
            "after such another step has no bonus.");
  list.Double("entropy_target", algorithm.entropy.target, kNotNegative,
              "The target of a token's mean entropy, in nats.")
      .ReadIf(when(AdaptsEntropy), kAdaptive);
  list.Double("entropy_coef_delta", algorithm.entropy.delta, kLossWeight, "How much entropy_coef changes after a step.")
      .ReadIf(when(AdaptsEntropy), kAdaptive);
  list.Double("entropy_coef_min", algorithm.entropy.min, kLossWeight, "The least entropy_coef.")
      .ReadIf(when(AdaptsEntropy), kAdaptive);
  list.Double("entropy_coef_max", algorithm.entropy.max, kLossWeight, "The greatest entropy_coef.")
      .ReadIf(when(AdaptsEntropy), kAdaptive);
}

// The keys that keep the policy near the model from the beginning of training: the divergence's weight over the run.
void VisitKlSchedule(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Name("kl_schedule", algorithm.kl.schedule, {"fixed", "linear", "proportional", "banded"},
            "beta over the run: constant, linear to final_beta, in proportion to the distance from kl_target "
            "(arXiv 1909.08593), or by a factor whenever kl_target's band is left.")
      .ReadIf(when(HasDivergence), kDivergence);
  list.Double("final_beta", algorithm.kl.final, kLossWeight, "Beta at the end of the run.")
      .ReadIf(when(Follows<KlSchedule::kLinear>), "algorithm.kl_schedule linear");
  list.Double("kl_target", algorithm.kl.target, kPositive, "The target of a token's mean k1.")
      .ReadIf(when(FollowsDivergence), "algorithm.kl_schedule proportional or banded");
  list.Double("kl_horizon", algorithm.kl.horizon, kPositive, "Completions over which beta adapts.")
      .ReadIf(when(Follows<KlSchedule::kProportional>), "algorithm.kl_schedule proportional");
  list.Double("kl_tolerance", algorithm.kl.tolerance, kNotNegative, "Half the width of the band.")
      .ReadIf(when(Follows<KlSchedule::kBanded>), kBanded);
  list.Double("kl_rate", algorithm.kl.rate, {.low = 1, .high = config::kMostFloat}, "The factor.")
      .ReadIf(when(Follows<KlSchedule::kBanded>), kBanded);
  list.Double("kl_low", algorithm.kl.low, kLossWeight, "The least beta.")
      .ReadIf(when(Follows<KlSchedule::kBanded>), kBanded);
  list.Double("kl_high", algorithm.kl.high, kLossWeight, "The greatest beta.")
      .ReadIf(when(Follows<KlSchedule::kBanded>), kBanded);
  list.Int("kl_interval", algorithm.kl.interval, Between(1, kMostSteps),
           "Steps between decisions, each of which follows the mean k1 of these steps.")
      .ReadIf(when(Follows<KlSchedule::kBanded>), kBanded);
  list.Int("kl_patience", algorithm.kl.patience, Between(0, kMostSteps), "Steps before the first decision.")
      .ReadIf(when(Follows<KlSchedule::kBanded>), kBanded);
}

// The divergence itself, and the reference model.
void VisitDivergence(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Bool("kl_in_reward", config::Through<&KlInReward, &SetKlInReward>(algorithm),
            "Whether the divergence is subtracted from the reward (of the completion, or of each token where tokens "
            "have their own advantages) and not added to the loss.")
      .ReadIf(when(HasDivergence), kDivergence);
  list.Name("kl_estimator", config::Through<&Estimator, &SetEstimator>(algorithm), {"k1", "k2", "k3", "exact"},
            "The estimator of the divergence, from only the sampled token; exact: the divergence itself, over the "
            "whole vocabulary, for which the reference runs beside every update; it can only be in the loss. In the "
            "reward the default is k1.")
      .ReadIf(when(HasDivergence), kDivergence);
  list.Bool("use_bias_correction_kl", algorithm.loss.use_bias_correction_kl,
            "Whether that estimate is multiplied by the probability ratio.")
      .ReadIf(when(EstimatesInLoss),
              "an estimate of the divergence in the loss: algorithm.beta above 0, with kl_in_reward false");
  list.Bool("sync_ref_model", algorithm.reference.sync, "Whether the reference model is updated from the policy.")
      .ReadIf(when(HasReference), kReference);
  list.Double("ref_model_mixup_alpha", algorithm.reference.mixup_alpha, kShare,
              "The policy's share in the reference model at each synchronisation; 1 = the reference becomes the "
              "policy.")
      .ReadIf(when(SyncsReference), "algorithm.sync_ref_model true");
  list.Int("ref_model_sync_steps", algorithm.reference.sync_steps, Between(1, kMostSteps),
           "Steps from one synchronisation to the next.")
      .ReadIf(when(SyncsReference), "algorithm.sync_ref_model true");
  VisitKlSchedule(list, algorithm, when);
}

}  // namespace

void VisitTerm(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  list.Name("loss_type", config::Through<&GetLossType, &SetLossType>(algorithm), LossTypeNames(),
            "The term of a token and how terms are averaged; dapo: over all tokens of the step, grpo: within each "
            "completion first.");
  list.Name(
      "clip", config::Through<&GetClip, &SetClip>(algorithm),
      {"two_sided", "cispo", "sapo", "vespo", "none", "reinforce", "gmpo", "regression"},
      "A token's policy term: PPO's clipped ratio, those of these algorithms, the unclipped ratio, the "
      "log-probability without a ratio, the geometric mean of a completion's clipped ratios (arXiv 2507.20673), or "
      "the regression of its log-ratio to the reference (a2po). The default is that of loss_type.");
  list.Name("aggregation", config::Through<&GetAggregation, &SetAggregation>(algorithm),
            {"grpo", "bnpo", "dr_grpo", "dapo", "luspo", "sum", "sequence_mean", "turn_mean"},
            "The divisor of the sum of the terms: as the loss types of these names, none (sum), or as grpo over "
            "completions with an unmasked token; turn_mean: as grpo, but each turn of an episode has the same weight. "
            "Of an episode's log-probabilities luspo thus uses the sum, grpo the mean over tokens, turn_mean that "
            "over turns. The default is that of loss_type.")
      .ReadIf(when([](const Config& config) {
                return EffectiveAggregation(config.algorithm.loss) != Aggregation::kTurnMean || HasTurns(config);
              }),
              "turns for turn_mean: an environment.name, or run.workload quiet_star");
  list.Double("epsilon", config::Through<&GetEpsilon, &SetEpsilon>(algorithm), kShare,
              "The probability ratio is clipped below at 1 - epsilon, with clip gmpo its logarithm at -epsilon.")
      .ReadIf(when(HasLowerClip), "algorithm.clip two_sided or gmpo");
  list.Double(
          "epsilon_high", algorithm.loss.epsilon_high, kNotNegative,
          "The probability ratio is clipped above at 1 + epsilon_high (cispo: capped at epsilon_high itself; gmpo: its "
          "logarithm at epsilon_high). The default is epsilon, unless the algorithm raises it.")
      .ReadIf(when(HasUpperClip), "algorithm.clip two_sided, cispo or gmpo");
}

void VisitLoss(FieldList& list, AlgorithmConfig& algorithm, const Conditions& when) {
  for (const auto visit : {VisitClips, VisitSoftClips, VisitCorrection, VisitEntropy, VisitDivergence}) {
    visit(list, algorithm, when);
  }
}

}  // namespace reprise::rl
