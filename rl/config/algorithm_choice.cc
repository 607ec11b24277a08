#include "rl/config/algorithm_choice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/config/reward_choice.h"

namespace reprise::rl {
namespace {

constexpr absl::string_view kOn = "on", kOff = "off";

std::string OnOrOff(bool value) { return std::string(value ? kOn : kOff); }

std::optional<double> NoneAt(double none, double value) {
  return value == none ? std::nullopt : std::optional<double>(value);
}

// The divergence can be taken from the reward only by the rows that know of it.
absl::Status CheckDivergence(const AlgorithmRow& row) {
  if (row.advantage.reward_beta == 0 || row.advantage.baseline == Baseline::kLeaveOneOut || row.kl_in_reward) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("algorithm.beta ", row.advantage.reward_beta,
                                                 " with algorithm.loss_type rloo is taken from the reward, which "
                                                 "algorithm.name ",
                                                 row.name,
                                                 " does not do: set algorithm.name to rloo, or algorithm.beta to 0"));
}

absl::Status CheckRow(const AlgorithmRow& row) {
  RETURN_IF_ERROR(CheckDivergence(row));
  return WithContext(ValidateAlgorithm(row), "[algorithm]");
}

// The row with the keys that say what an algorithm says of itself left to it, name and loss_type excepted.
absl::StatusOr<AlgorithmRow> OwnRow(const AlgorithmConfig& algorithm) {
  ASSIGN_OR_RETURN(AlgorithmRow row, FindAlgorithm(algorithm.name));
  if (!algorithm.loss_type.empty()) {
    ASSIGN_OR_RETURN(const LossType loss_type, ParseLossType(algorithm.loss_type));
    SetLossType(loss_type, &row);
  }
  return row;
}

absl::Status SetAdvantages(const AlgorithmConfig& algorithm, AdvantageOptions* options) {
  if (!algorithm.scale_rewards.empty()) {
    ASSIGN_OR_RETURN(options->scale_rewards, ParseScaleRewards(algorithm.scale_rewards));
  }
  if (!algorithm.baseline.empty()) {
    ASSIGN_OR_RETURN(options->baseline, ParseBaseline(algorithm.baseline));
  }
  if (!algorithm.whiten_tokens.empty()) options->whiten_tokens = algorithm.whiten_tokens == kOn;
  ASSIGN_OR_RETURN(options->multi_objective_aggregation, ParseRewardAggregation(algorithm.multi_objective_aggregation));
  options->advantage_epsilon = algorithm.advantage_epsilon;
  options->normalize_advantages = algorithm.normalize_advantages;
  options->ddof = algorithm.ddof;
  options->gamma = algorithm.gamma;
  return absl::OkStatus();
}

absl::Status SetClips(const AlgorithmConfig& algorithm, AlgorithmRow* row) {
  if (!algorithm.clip.empty()) {
    ASSIGN_OR_RETURN(const Clip clip, ParseClip(algorithm.clip));
    SetClip(clip, row);
  }
  LossOptions& loss = row->loss;
  const bool raised = loss.epsilon_high != loss.epsilon;
  if (algorithm.epsilon != -1) loss.epsilon = algorithm.epsilon;
  if (!raised) loss.epsilon_high = loss.epsilon;
  if (algorithm.epsilon_high != -1) loss.epsilon_high = algorithm.epsilon_high;
  loss.delta = NoneAt(0, algorithm.delta);
  loss.dual_clip = NoneAt(0, algorithm.dual_clip);
  loss.off_policy_mask_threshold = NoneAt(-1, algorithm.off_policy_mask_threshold);
  return absl::OkStatus();
}

absl::Status SetLoss(const AlgorithmConfig& algorithm, AlgorithmRow* row) {
  RETURN_IF_ERROR(SetClips(algorithm, row));
  LossOptions& loss = row->loss;
  if (!algorithm.aggregation.empty()) {
    ASSIGN_OR_RETURN(loss.aggregation, ParseAggregation(algorithm.aggregation));
  }
  if (!algorithm.importance_sampling_level.empty()) {
    ASSIGN_OR_RETURN(loss.importance_sampling_level, ParseImportanceLevel(algorithm.importance_sampling_level));
  }
  if (!algorithm.kl_estimator.empty()) {
    ASSIGN_OR_RETURN(loss.kl_estimator, ParseKlEstimator(algorithm.kl_estimator));
  }
  if (!algorithm.use_bias_correction_kl.empty()) {
    loss.use_bias_correction_kl = algorithm.use_bias_correction_kl == kOn;
  }
  loss.top_entropy_quantile = algorithm.top_entropy_quantile;
  loss.entropy_coef = algorithm.entropy_coef;
  return absl::OkStatus();
}

// The keys that an algorithm chooses and that the canonical text leaves out while they are its own.
struct OwnChoice {
  absl::string_view key;
  std::string AlgorithmConfig::* value;
  std::string (*of)(const AlgorithmRow& row);
};

constexpr OwnChoice kOwnChoices[] = {
    {"baseline", &AlgorithmConfig::baseline,
     [](const AlgorithmRow& row) { return std::string(BaselineName(row.advantage.baseline)); }},
    {"whiten_tokens", &AlgorithmConfig::whiten_tokens,
     [](const AlgorithmRow& row) { return OnOrOff(row.advantage.whiten_tokens); }},
    {"clip", &AlgorithmConfig::clip, [](const AlgorithmRow& row) { return std::string(ClipName(ClipOf(row.loss))); }},
    {"aggregation", &AlgorithmConfig::aggregation,
     [](const AlgorithmRow& row) { return std::string(AggregationName(AggregationOf(row.loss))); }},
    {"importance_sampling_level", &AlgorithmConfig::importance_sampling_level,
     [](const AlgorithmRow& row) { return std::string(ImportanceLevelName(row.loss.importance_sampling_level)); }},
    {"kl_estimator", &AlgorithmConfig::kl_estimator,
     [](const AlgorithmRow& row) { return std::string(KlEstimatorName(row.loss.kl_estimator)); }},
    {"use_bias_correction_kl", &AlgorithmConfig::use_bias_correction_kl,
     [](const AlgorithmRow& row) { return OnOrOff(row.loss.use_bias_correction_kl); }},
};

}  // namespace

absl::StatusOr<AlgorithmRow> AlgorithmOf(const AlgorithmConfig& algorithm) {
  RETURN_IF_ERROR(RewardsOf(algorithm).status());
  ASSIGN_OR_RETURN(AlgorithmRow row, OwnRow(algorithm));
  RETURN_IF_ERROR(SetAdvantages(algorithm, &row.advantage));
  RETURN_IF_ERROR(SetLoss(algorithm, &row));
  if (algorithm.beta != -1) SetBeta(algorithm.beta, &row);
  row.update = {.num_iterations = algorithm.num_iterations,
                .num_mini_batches = algorithm.num_mini_batches,
                .target_kl = algorithm.target_kl};
  RETURN_IF_ERROR(CheckRow(row));
  if (algorithm.kl_schedule != "fixed") {  // a weight that is 0 at first may not stay so
    AlgorithmRow later = row;
    SetBeta(std::max(Beta(row), 1.0), &later);
    RETURN_IF_ERROR(CheckRow(later));
  }
  return row;
}

absl::StatusOr<std::vector<std::string>> FillAlgorithm(AlgorithmConfig* algorithm) {
  ASSIGN_OR_RETURN(const AlgorithmRow row, AlgorithmOf(*algorithm));
  std::vector<std::string> filled;
  const auto fill = [&filled](auto& key, const auto& unset, const auto& value, absl::string_view name) {
    if (key != unset) return;
    key = value;
    filled.push_back(absl::StrCat("algorithm.", name));
  };
  fill(algorithm->loss_type, "", std::string(LossTypeName(row.loss.loss_type)), "loss_type");
  fill(algorithm->scale_rewards, "", std::string(ScaleRewardsName(row.advantage.scale_rewards)), "scale_rewards");
  fill(algorithm->epsilon, -1, row.loss.epsilon, "epsilon");
  fill(algorithm->epsilon_high, -1, row.loss.epsilon_high, "epsilon_high");
  fill(algorithm->beta, -1, Beta(row), "beta");
  for (const OwnChoice& choice : kOwnChoices) fill(algorithm->*choice.value, "", choice.of(row), choice.key);
  return filled;
}

AlgorithmConfig WithoutOwnChoices(AlgorithmConfig algorithm) {
  const absl::StatusOr<AlgorithmRow> own = OwnRow(algorithm);
  if (!own.ok()) return algorithm;
  for (const OwnChoice& choice : kOwnChoices) {
    if (algorithm.*choice.value == choice.of(*own)) (algorithm.*choice.value).clear();
  }
  return algorithm;
}

}  // namespace reprise::rl
