#include "rl/algorithm/algorithm.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/config/unknown_name.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

constexpr double kCispoCap = 5.0;

// Mean over sequences of -A times the sum of their log-probs.
constexpr LossOptions kPolicyGradient = {.loss_type = LossType::kLuspo, .clip = Clip::kReinforce};

// The clip: section 5.1 of the paper.
constexpr LossOptions kLengthUnbiased = {.loss_type = LossType::kLuspo,
                                         .importance_sampling_level = ImportanceLevel::kSequence,
                                         .epsilon = 2e-3,
                                         .epsilon_high = 2.5e-3};

// CISPO caps the ratio itself by epsilon_high, which has another meaning in every other clip.
void AdaptCap(Clip before, LossOptions* loss) {
  const Clip after = EffectiveClip(*loss);
  if (before == after) return;
  if (after == Clip::kCispo) loss->epsilon_high = kCispoCap;
  if (before == Clip::kCispo) loss->epsilon_high = loss->epsilon;
}

// GRPO, its variants, and other rows with their own term.
std::vector<AlgorithmPreset> PresetsByTerm() {
  return {
      {.source = "Shao et al., DeepSeekMath, 2024 (arXiv 2402.03300), as TRL's GRPOTrainer: the mean over the step's "
                 "tokens; loss_type grpo is the paper's mean over completions",
       .algorithm = {.name = "grpo", .loss = {.loss_type = LossType::kDapo}}},
      {.source = "Yu et al., 2025 (arXiv 2503.14476): token mean, with a higher upper clip; sampling is set in "
                 "[rollout]",
       .algorithm = {.name = "dapo", .loss = {.loss_type = LossType::kDapo, .epsilon_high = 0.28}}},
      {.source = "Liu et al., 2025 (arXiv 2503.20783): divides neither by the deviation nor by the length",
       .algorithm = {.name = "dr_grpo",
                     .advantage = {.scale_rewards = ScaleRewards::kNone},
                     .loss = {.loss_type = LossType::kDrGrpo}}},
      {.source = "TRL's loss_type bnpo: mean over the minibatch's tokens",
       .algorithm = {.name = "bnpo", .loss = {.loss_type = LossType::kBnpo}}},
      {.source = "Zheng et al., 2025 (arXiv 2507.18071): one ratio per sequence, with a narrow clip",
       .algorithm = {.name = "gspo",
                     .loss = {.loss_type = LossType::kGrpo,
                              .importance_sampling_level = ImportanceLevel::kSequence,
                              .epsilon = 3e-4,
                              .epsilon_high = 4e-4}}},
      {.source = "MiniMax-M1, 2025 (arXiv 2506.13585), as TRL defines it",
       .algorithm = {.name = "cispo", .loss = {.loss_type = LossType::kCispo, .epsilon_high = kCispoCap}}},
      {.source = "Soft adaptive policy optimization, as TRL",
       .algorithm = {.name = "sapo", .loss = {.loss_type = LossType::kSapo}}},
      {.source = "Length-unbiased sequence policy optimization, 2026 (arXiv 2602.05261), as TRL, with the paper's clip",
       .algorithm = {.name = "luspo", .loss = kLengthUnbiased}},
      {.source = "Variational sequence-level soft policy optimization, as TRL",
       .algorithm = {.name = "vespo", .loss = {.loss_type = LossType::kVespo}}},
      {.source = "Zhao et al., Geometric-Mean Policy Optimization, 2025 (arXiv 2507.20673), as TRL's GMPOTrainer: the "
                 "geometric mean of the clipped ratios",
       .algorithm = {.name = "gmpo",
                     .loss = {.loss_type = LossType::kGrpo,
                              .clip = Clip::kGmpo,
                              .epsilon = 0.4,
                              .epsilon_high = 0.4,
                              .use_bias_correction_kl = false}}},
      {.source =
           "Brantley et al., A*-PO, 2025 (arXiv 2505.20686), as TRL's A2POTrainer: the log-ratio to the reference "
           "is regressed to the optimal advantage",
       .algorithm = {.name = "a2po",
                     .advantage = {.baseline = Baseline::kOptimal, .scale_rewards = ScaleRewards::kNone},
                     .loss = {.loss_type = LossType::kGrpo, .clip = Clip::kRegression}}},
  };
}

// The other rows, which differ in their baseline.
std::vector<AlgorithmPreset> PresetsByBaseline() {
  return {
      {.source = "Ahmadian et al., 2024 (arXiv 2402.14740), as TRL's RLOOTrainer",
       .algorithm = {.name = "rloo",
                     .advantage = {.baseline = Baseline::kLeaveOneOut,
                                   .scale_rewards = ScaleRewards::kNone,
                                   .reward_beta = 0.05},
                     .loss = {.loss_type = LossType::kRloo,
                              .importance_sampling_level = ImportanceLevel::kSequenceSum}}},
      {.source = "Kool et al., 2019, over whole episodes: leave-one-out advantages, the plain policy gradient of the "
                 "sum of an episode's log-probs",
       .algorithm = {.name = "episode_rloo",
                     .advantage = {.baseline = Baseline::kLeaveOneOut, .scale_rewards = ScaleRewards::kNone},
                     .loss = kPolicyGradient}},
      {.source = "Williams, 1992: the plain policy gradient, without a baseline",
       .algorithm = {.name = "reinforce",
                     .advantage = {.baseline = Baseline::kNone, .scale_rewards = ScaleRewards::kNone},
                     .loss = kPolicyGradient}},
      {.source = "Li et al., 2024 (arXiv 2310.10505): the plain policy gradient against the greedy completion, or the "
                 "greedy episode",
       .algorithm = {.name = "remax",
                     .advantage = {.baseline = Baseline::kGreedy, .scale_rewards = ScaleRewards::kNone},
                     .loss = kPolicyGradient}},
      {.source = "Hao et al., 2025 (arXiv 2505.23585): the plain policy gradient against the length-weighted mean",
       .algorithm = {.name = "opo",
                     .advantage = {.baseline = Baseline::kLengthWeighted, .scale_rewards = ScaleRewards::kNone},
                     .loss = kPolicyGradient}},
      {.source =
           "Hu et al., 2025 (arXiv 2501.03262), as verl: whitened returns of tokens, the divergence in the reward",
       .algorithm = {.name = "reinforce_plus_plus",
                     .advantage = {.baseline = Baseline::kNone,
                                   .scale_rewards = ScaleRewards::kNone,
                                   .reward_beta = 0.01,
                                   .whiten_tokens = true},
                     .loss = {.loss_type = LossType::kDapo},
                     .kl_in_reward = true}},
      {.source = "Hu et al., 2025 (arXiv 2501.03262), as verl: centred in its group, then whitened over the tokens",
       .algorithm = {.name = "reinforce_plus_plus_baseline",
                     .advantage = {.scale_rewards = ScaleRewards::kNone, .whiten_tokens = true},
                     .loss = {.loss_type = LossType::kDapo,
                              .kl_estimator = KlEstimator::kK2,
                              .use_bias_correction_kl = false}}},
      {.source = "Schulman et al., 2017 (arXiv 1707.06347), with the defaults of TRL's PPOTrainer",
       .algorithm = {.name = "ppo",
                     .advantage = {.baseline = Baseline::kValue,
                                   .scale_rewards = ScaleRewards::kNone,
                                   .reward_beta = 0.05,
                                   .whiten_tokens = true},
                     .loss = {.loss_type = LossType::kBnpo},
                     .kl_in_reward = true,
                     .update = {.num_iterations = 4}}},
      {.source = "Yu et al., AgeMem, 2026 (arXiv 2601.01885): step-wise GRPO of a memory agent; each step is compared "
                 "with the same step of the prompt's other episodes, the divergence is exact",
       .algorithm = {.name = "agemem",
                     .advantage = {.baseline = Baseline::kStepGroupMean,
                                   .scale_rewards = ScaleRewards::kNone,
                                   .gamma = 0.0},
                     .loss = {.loss_type = LossType::kBnpo,
                              .beta = 0.1,
                              .kl_estimator = KlEstimator::kExact,
                              .use_bias_correction_kl = false},
                     .update = {.num_iterations = 4}}},
  };
}

std::vector<AlgorithmPreset> MakeTable() {
  std::vector<AlgorithmPreset> table = PresetsByTerm();
  std::vector<AlgorithmPreset> baselines = PresetsByBaseline();
  std::move(baselines.begin(), baselines.end(), std::back_inserter(table));
  return table;
}

// An update from single decisions does not see the whole of a completion, nor does its loss.
absl::Status ValidateDecisions(const AlgorithmConfig& algorithm) {
  if (algorithm.update.unit != MinibatchUnit::kDecision) return absl::OkStatus();
  const LossOptions& loss = algorithm.loss;
  std::string whole;
  if (loss.loss_type == LossType::kRloo) {
    whole = "loss_type rloo";
  } else if (HasOneTerm(loss) || EffectiveClip(loss) == Clip::kVespo) {
    whole = absl::StrCat("clip ", ClipName(EffectiveClip(loss)));
  } else if (loss.importance_sampling_level != ImportanceLevel::kToken) {
    whole = absl::StrCat("importance_sampling_level ", ImportanceLevelName(loss.importance_sampling_level));
  } else if (loss.off_policy_mask_threshold) {
    whole = absl::StrCat("off_policy_mask_threshold ", *loss.off_policy_mask_threshold);
  }
  if (whole.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "minibatches_of decisions cannot be combined with ", whole,
      ", which needs all tokens of a completion in one update; choose episodes or groups, or change the other key"));
}

}  // namespace

const std::vector<AlgorithmPreset>& AlgorithmPresets() {
  static const auto* const kPresets = new std::vector<AlgorithmPreset>(MakeTable());
  return *kPresets;
}

std::vector<absl::string_view> AlgorithmNames() {
  std::vector<absl::string_view> names;
  for (const AlgorithmPreset& preset : AlgorithmPresets()) names.push_back(preset.algorithm.name);
  return names;
}

absl::StatusOr<AlgorithmConfig> FindAlgorithm(absl::string_view name) {
  for (const AlgorithmPreset& preset : AlgorithmPresets()) {
    if (preset.algorithm.name == name) return preset.algorithm;
  }
  return UnknownName("algorithm", name, AlgorithmNames());
}

bool NeedsValues(const AlgorithmConfig& algorithm) { return algorithm.advantage.baseline == Baseline::kValue; }

bool NeedsReference(const AlgorithmConfig& algorithm) {
  return algorithm.loss.beta != 0 || algorithm.advantage.reward_beta != 0 ||
         algorithm.kl.schedule != KlSchedule::kFixed || RegressesToReference(algorithm.loss) ||
         algorithm.advantage.baseline == Baseline::kOptimal;
}

bool HasSchedules(const AlgorithmConfig& algorithm) {
  return algorithm.kl.schedule != KlSchedule::kFixed || algorithm.entropy.adaptive ||
         algorithm.advantage.baseline == Baseline::kRunningMean || algorithm.advantage.scales_by_running_deviation;
}

bool KlInReward(const AlgorithmConfig& algorithm) {
  return algorithm.kl_in_reward.value_or(false) || algorithm.loss.loss_type == LossType::kRloo;
}

void SetKlInReward(bool in_reward, AlgorithmConfig* algorithm) {
  if (in_reward == KlInReward(*algorithm) && algorithm->loss.loss_type != LossType::kRloo) return;
  const double beta = Beta(*algorithm);
  SetBeta(0.0, algorithm);
  algorithm->kl_in_reward = in_reward;
  SetBeta(beta, algorithm);
}

void SetBeta(double beta, AlgorithmConfig* algorithm) {
  (KlInReward(*algorithm) ? algorithm->advantage.reward_beta : algorithm->loss.beta) = beta;
}

double Beta(const AlgorithmConfig& algorithm) {
  return KlInReward(algorithm) ? algorithm.advantage.reward_beta : algorithm.loss.beta;
}

void SetEstimator(KlEstimator estimator, AlgorithmConfig* algorithm) {
  (KlInReward(*algorithm) ? algorithm->advantage.reward_kl_estimator : algorithm->loss.kl_estimator) = estimator;
  if (algorithm->loss.kl_estimator == KlEstimator::kExact) algorithm->loss.use_bias_correction_kl = false;
}

KlEstimator Estimator(const AlgorithmConfig& algorithm) {
  return KlInReward(algorithm) ? algorithm.advantage.reward_kl_estimator : algorithm.loss.kl_estimator;
}

void SetLossType(LossType loss_type, AlgorithmConfig* algorithm) {
  if (loss_type == algorithm->loss.loss_type) return;
  const Clip clip = EffectiveClip(algorithm->loss);
  if (algorithm->loss.loss_type == LossType::kRloo) algorithm->loss.importance_sampling_level = ImportanceLevel::kToken;
  if (loss_type == LossType::kRloo) algorithm->loss.importance_sampling_level = ImportanceLevel::kSequenceSum;
  const double beta = Beta(*algorithm);
  SetBeta(0.0, algorithm);
  algorithm->loss.loss_type = loss_type;
  algorithm->loss.clip = {};
  algorithm->loss.aggregation = {};
  SetBeta(beta, algorithm);
  AdaptCap(clip, &algorithm->loss);
}

void SetClip(Clip clip, AlgorithmConfig* algorithm) {
  const Clip before = EffectiveClip(algorithm->loss);
  if (clip == before) return;
  algorithm->loss.clip = clip;
  AdaptCap(before, &algorithm->loss);
}

void SetAggregation(Aggregation aggregation, AlgorithmConfig* algorithm) {
  if (aggregation != EffectiveAggregation(algorithm->loss)) algorithm->loss.aggregation = aggregation;
}

void SetEpsilon(double epsilon, AlgorithmConfig* algorithm) {
  LossOptions& loss = algorithm->loss;
  if (loss.epsilon_high == loss.epsilon) loss.epsilon_high = epsilon;
  loss.epsilon = epsilon;
}

absl::Status ValidateAlgorithm(const AlgorithmConfig& algorithm) {
  RETURN_IF_ERROR(ValidateLossOptions(algorithm.loss));
  RETURN_IF_ERROR(ValidateAdvantageOptions(algorithm.advantage));
  RETURN_IF_ERROR(ValidateValueLossOptions(algorithm.value));
  RETURN_IF_ERROR(ValidateDecisions(algorithm));
  if (ByToken(algorithm.advantage) && HasOneTerm(algorithm.loss)) {
    const bool rloo = algorithm.loss.loss_type == LossType::kRloo;
    return absl::InvalidArgumentError(
        absl::StrCat(rloo ? "loss_type rloo" : absl::StrCat("clip ", ClipName(EffectiveClip(algorithm.loss))),
                     " has one term per sequence, but baseline ", BaselineName(algorithm.advantage.baseline),
                     algorithm.advantage.whiten_tokens ? " with whiten_tokens" : "",
                     " gives every token its own advantage; change one of the two"));
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
