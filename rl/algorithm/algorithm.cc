#include "rl/algorithm/algorithm.h"

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
std::vector<AlgorithmRow> RowsOfTerms() {
  return {
      {.name = "grpo",
       .source = "Shao et al., DeepSeekMath, 2024 (arXiv 2402.03300), as TRL's GRPOTrainer: the mean over the step's "
                 "tokens; loss_type grpo is the paper's mean over completions",
       .loss = {.loss_type = LossType::kDapo}},
      {.name = "dapo",
       .source = "Yu et al., 2025 (arXiv 2503.14476): token mean, with a higher upper clip; sampling is set in "
                 "[rollout]",
       .loss = {.loss_type = LossType::kDapo, .epsilon_high = 0.28}},
      {.name = "dr_grpo",
       .source = "Liu et al., 2025 (arXiv 2503.20783): divides neither by the deviation nor by the length",
       .advantage = {.scale_rewards = ScaleRewards::kNone},
       .loss = {.loss_type = LossType::kDrGrpo}},
      {.name = "bnpo",
       .source = "TRL's loss_type bnpo: mean over the minibatch's tokens",
       .loss = {.loss_type = LossType::kBnpo}},
      {.name = "gspo",
       .source = "Zheng et al., 2025 (arXiv 2507.18071): one ratio per sequence, with a narrow clip",
       .loss = {.loss_type = LossType::kGrpo,
                .importance_sampling_level = ImportanceLevel::kSequence,
                .epsilon = 3e-4,
                .epsilon_high = 4e-4}},
      {.name = "cispo",
       .source = "MiniMax-M1, 2025 (arXiv 2506.13585), as TRL defines it",
       .loss = {.loss_type = LossType::kCispo, .epsilon_high = kCispoCap}},
      {.name = "sapo", .source = "Soft adaptive policy optimization, as TRL", .loss = {.loss_type = LossType::kSapo}},
      {.name = "luspo",
       .source = "Length-unbiased sequence policy optimization, 2026 (arXiv 2602.05261), as TRL, with the paper's clip",
       .loss = kLengthUnbiased},
      {.name = "vespo",
       .source = "Variational sequence-level soft policy optimization, as TRL",
       .loss = {.loss_type = LossType::kVespo}},
      {.name = "gmpo",
       .source = "Zhao et al., Geometric-Mean Policy Optimization, 2025 (arXiv 2507.20673), as TRL's GMPOTrainer: the "
                 "geometric mean of the clipped ratios",
       .loss = {.loss_type = LossType::kGrpo,
                .clip = Clip::kGmpo,
                .epsilon = 0.4,
                .epsilon_high = 0.4,
                .use_bias_correction_kl = false}},
      {.name = "a2po",
       .source =
           "Brantley et al., A*-PO, 2025 (arXiv 2505.20686), as TRL's A2POTrainer: the log-ratio to the reference "
           "is regressed to the optimal advantage",
       .advantage = {.baseline = Baseline::kOptimal, .scale_rewards = ScaleRewards::kNone},
       .loss = {.loss_type = LossType::kGrpo, .clip = Clip::kRegression}},
  };
}

// The other rows, which differ in their baseline.
std::vector<AlgorithmRow> RowsOfBaselines() {
  return {
      {.name = "rloo",
       .source = "Ahmadian et al., 2024 (arXiv 2402.14740), as TRL's RLOOTrainer",
       .advantage = {.baseline = Baseline::kLeaveOneOut, .scale_rewards = ScaleRewards::kNone, .reward_beta = 0.05},
       .loss = {.loss_type = LossType::kRloo, .importance_sampling_level = ImportanceLevel::kSequenceSum}},
      {.name = "episode_rloo",
       .source = "Kool et al., 2019, over whole episodes: leave-one-out advantages, the plain policy gradient of the "
                 "sum of an episode's log-probs",
       .advantage = {.baseline = Baseline::kLeaveOneOut, .scale_rewards = ScaleRewards::kNone},
       .loss = kPolicyGradient},
      {.name = "reinforce",
       .source = "Williams, 1992: the plain policy gradient, without a baseline",
       .advantage = {.baseline = Baseline::kNone, .scale_rewards = ScaleRewards::kNone},
       .loss = kPolicyGradient},
      {.name = "remax",
       .source = "Li et al., 2024 (arXiv 2310.10505): the plain policy gradient against the greedy completion, or the "
                 "greedy episode",
       .advantage = {.baseline = Baseline::kGreedy, .scale_rewards = ScaleRewards::kNone},
       .loss = kPolicyGradient},
      {.name = "opo",
       .source = "Hao et al., 2025 (arXiv 2505.23585): the plain policy gradient against the length-weighted mean",
       .advantage = {.baseline = Baseline::kLengthWeighted, .scale_rewards = ScaleRewards::kNone},
       .loss = kPolicyGradient},
      {.name = "reinforce_plus_plus",
       .source =
           "Hu et al., 2025 (arXiv 2501.03262), as verl: whitened returns of tokens, the divergence in the reward",
       .advantage = {.baseline = Baseline::kNone,
                     .scale_rewards = ScaleRewards::kNone,
                     .reward_beta = 0.01,
                     .whiten_tokens = true},
       .loss = {.loss_type = LossType::kDapo},
       .kl_in_reward = true},
      {.name = "reinforce_plus_plus_baseline",
       .source = "Hu et al., 2025 (arXiv 2501.03262), as verl: centred in its group, then whitened over the tokens",
       .advantage = {.scale_rewards = ScaleRewards::kNone, .whiten_tokens = true},
       .loss = {.loss_type = LossType::kDapo, .kl_estimator = KlEstimator::kK2, .use_bias_correction_kl = false}},
      {.name = "ppo",
       .source = "Schulman et al., 2017 (arXiv 1707.06347), with the defaults of TRL's PPOTrainer",
       .advantage = {.baseline = Baseline::kValue,
                     .scale_rewards = ScaleRewards::kNone,
                     .reward_beta = 0.05,
                     .whiten_tokens = true},
       .loss = {.loss_type = LossType::kBnpo},
       .kl_in_reward = true,
       .update = {.num_iterations = 4}},
      {.name = "agemem",
       .source = "Yu et al., AgeMem, 2026 (arXiv 2601.01885): step-wise GRPO of a memory agent; each step is compared "
                 "with the same step of the prompt's other episodes, the divergence is exact",
       .advantage = {.baseline = Baseline::kStepGroupMean, .scale_rewards = ScaleRewards::kNone, .gamma = 0.0},
       .loss = {.loss_type = LossType::kBnpo,
                .beta = 0.1,
                .kl_estimator = KlEstimator::kExact,
                .use_bias_correction_kl = false},
       .update = {.num_iterations = 4}},
  };
}

std::vector<AlgorithmRow> MakeTable() {
  std::vector<AlgorithmRow> table = RowsOfTerms();
  const std::vector<AlgorithmRow> baselines = RowsOfBaselines();
  table.insert(table.end(), baselines.begin(), baselines.end());
  return table;
}

// An update from single decisions does not see the whole of a completion, nor does its loss.
absl::Status ValidateDecisions(const AlgorithmRow& row) {
  if (row.update.unit != MinibatchUnit::kDecision) return absl::OkStatus();
  const LossOptions& loss = row.loss;
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

std::vector<absl::string_view> AlgorithmNames() {
  std::vector<absl::string_view> names;
  for (const AlgorithmRow& row : MakeTable()) names.push_back(row.name);
  return names;
}

absl::StatusOr<AlgorithmRow> FindAlgorithm(absl::string_view name) {
  for (const AlgorithmRow& row : MakeTable()) {
    if (row.name == name) return row;
  }
  return UnknownName("algorithm", name, AlgorithmNames());
}

bool NeedsValues(const AlgorithmRow& row) { return row.advantage.baseline == Baseline::kValue; }

bool NeedsReference(const AlgorithmRow& row) {
  return row.loss.beta != 0 || row.advantage.reward_beta != 0 || row.kl.schedule != KlSchedule::kFixed ||
         RegressesToReference(row.loss) || row.advantage.baseline == Baseline::kOptimal;
}

bool HasSchedules(const AlgorithmRow& row) {
  return row.kl.schedule != KlSchedule::kFixed || row.entropy.adaptive ||
         row.advantage.baseline == Baseline::kRunningMean || row.advantage.scales_by_running_deviation;
}

bool KlInReward(const AlgorithmRow& row) { return row.kl_in_reward || row.loss.loss_type == LossType::kRloo; }

void SetBeta(double beta, AlgorithmRow* row) {
  (KlInReward(*row) ? row->advantage.reward_beta : row->loss.beta) = beta;
}

double Beta(const AlgorithmRow& row) { return KlInReward(row) ? row.advantage.reward_beta : row.loss.beta; }

void SetEstimator(KlEstimator estimator, AlgorithmRow* row) {
  (KlInReward(*row) ? row->advantage.reward_kl_estimator : row->loss.kl_estimator) = estimator;
}

KlEstimator Estimator(const AlgorithmRow& row) {
  return KlInReward(row) ? row.advantage.reward_kl_estimator : row.loss.kl_estimator;
}

void SetLossType(LossType loss_type, AlgorithmRow* row) {
  if (loss_type == row->loss.loss_type) return;
  const Clip clip = EffectiveClip(row->loss);
  if (row->loss.loss_type == LossType::kRloo) row->loss.importance_sampling_level = ImportanceLevel::kToken;
  if (loss_type == LossType::kRloo) row->loss.importance_sampling_level = ImportanceLevel::kSequenceSum;
  const double beta = Beta(*row);
  SetBeta(0.0, row);
  row->loss.loss_type = loss_type;
  row->loss.clip = {};
  row->loss.aggregation = {};
  SetBeta(beta, row);
  AdaptCap(clip, &row->loss);
}

void SetClip(Clip clip, AlgorithmRow* row) {
  const Clip before = EffectiveClip(row->loss);
  row->loss.clip = clip;
  AdaptCap(before, &row->loss);
}

absl::Status ValidateAlgorithm(const AlgorithmRow& row) {
  RETURN_IF_ERROR(ValidateLossOptions(row.loss));
  RETURN_IF_ERROR(ValidateAdvantageOptions(row.advantage));
  RETURN_IF_ERROR(ValidateValueLossOptions(row.value));
  RETURN_IF_ERROR(ValidateDecisions(row));
  if (ByToken(row.advantage) && HasOneTerm(row.loss)) {
    const bool rloo = row.loss.loss_type == LossType::kRloo;
    return absl::InvalidArgumentError(
        absl::StrCat(rloo ? "loss_type rloo" : absl::StrCat("clip ", ClipName(EffectiveClip(row.loss))),
                     " has one term per sequence, but baseline ", BaselineName(row.advantage.baseline),
                     row.advantage.whiten_tokens ? " with whiten_tokens" : "",
                     " gives every token its own advantage; change one of the two"));
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
