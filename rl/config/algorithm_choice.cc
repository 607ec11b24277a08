#include "rl/config/algorithm_choice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

// Only some rows can subtract the divergence from the reward.
absl::Status CheckDivergence(const AlgorithmRow& row) {
  if (row.advantage.reward_beta == 0 || row.advantage.baseline == Baseline::kLeaveOneOut || row.kl_in_reward) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "algorithm.beta ", row.advantage.reward_beta,
      " with algorithm.loss_type rloo is subtracted from the reward, which needs algorithm.baseline leave_one_out and "
      "not with ",
      BaselineName(row.advantage.baseline), ": set algorithm.baseline to leave_one_out, or algorithm.beta to 0"));
}

absl::Status CheckRow(const AlgorithmRow& row) {
  RETURN_IF_ERROR(CheckDivergence(row));
  return WithContext(ValidateAlgorithm(row), "[algorithm]");
}

// Moves the divergence to the reward or the loss, with the row's weight.
absl::Status SetPlaceOfDivergence(const AlgorithmConfig& algorithm, AlgorithmRow* row) {
  if (algorithm.kl_in_reward.empty()) return absl::OkStatus();
  const bool in_reward = algorithm.kl_in_reward == kOn;
  if (!in_reward && row->loss.loss_type == LossType::kRloo) {
    return absl::InvalidArgumentError(
        "algorithm.kl_in_reward off cannot be combined with algorithm.loss_type rloo, whose terms are per completion: "
        "remove it, or choose another loss_type");
  }
  const double beta = Beta(*row);
  SetBeta(0.0, row);
  row->kl_in_reward = in_reward;
  SetBeta(beta, row);
  return absl::OkStatus();
}

// The exact divergence is a function of the whole distribution at each token: it has no estimate in the reward and no
// ratio.
absl::Status CheckExactDivergence(const AlgorithmConfig& algorithm, const AlgorithmRow& row) {
  if (Estimator(row) != KlEstimator::kExact) return absl::OkStatus();
  if (KlInReward(row)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "algorithm.kl_estimator exact is added to the loss, but algorithm.name ", row.name,
        " subtracts the divergence from the reward, as an estimate from sampled tokens: ",
        row.loss.loss_type == LossType::kRloo ? "choose another algorithm" : "set algorithm.kl_in_reward to off",
        ", or remove kl_estimator"));
  }
  if (algorithm.use_bias_correction_kl != kOn) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "algorithm.use_bias_correction_kl on weighs an estimate from sampled tokens, which algorithm.kl_estimator exact "
      "is not: remove one of them");
}

// "low high", or nullopt for "".
absl::StatusOr<std::optional<std::pair<double, double>>> ParseRange(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  std::pair<double, double> range;
  if (words.size() == 2 && absl::SimpleAtod(words[0], &range.first) && absl::SimpleAtod(words[1], &range.second) &&
      std::isfinite(range.first) && std::isfinite(range.second) && range.first <= range.second) {
    return range;
  }
  return absl::InvalidArgumentError(absl::StrCat("algorithm.reward_clip_range is \"", text,
                                                 "\"; expected two numbers, the lower one first, as \"-5 5\""));
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
  options->baseline_over_batch = algorithm.baseline_scope == "batch";
  options->ddof = algorithm.ddof;
  if (algorithm.gamma != -1) options->gamma = algorithm.gamma;
  options->lambda = algorithm.lam;
  options->value_of_turns = algorithm.value_steps == "turns";
  options->whiten_rewards = algorithm.whiten_rewards;
  options->scales_by_running_deviation = algorithm.reward_scaling == "running";
  options->bootstrap_truncated = algorithm.bootstrap_truncated;
  options->lone_sample_keeps_reward = algorithm.lone_sample_keeps_reward;
  ASSIGN_OR_RETURN(options->reward_clip_range, ParseRange(algorithm.reward_clip_range));
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
  loss.sapo_temperature_pos = algorithm.sapo_temperature_pos;
  loss.sapo_temperature_neg = algorithm.sapo_temperature_neg;
  loss.vespo = algorithm.vespo;
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
    ASSIGN_OR_RETURN(const KlEstimator estimator, ParseKlEstimator(algorithm.kl_estimator));
    SetEstimator(estimator, row);
  }
  if (loss.kl_estimator == KlEstimator::kExact) loss.use_bias_correction_kl = false;
  if (!algorithm.use_bias_correction_kl.empty()) {
    loss.use_bias_correction_kl = algorithm.use_bias_correction_kl == kOn;
  }
  loss.top_entropy_quantile = algorithm.top_entropy_quantile;
  loss.regression_beta = algorithm.beta2;
  loss.entropy_coef = algorithm.entropy.entropy_coef;
  loss.entropy_floor = algorithm.entropy.floor_by_mask ? algorithm.entropy.floor : 0.0;
  return absl::OkStatus();
}

absl::StatusOr<ImportanceOptions> CorrectionOf(const AlgorithmConfig& algorithm) {
  ImportanceOptions correction;
  ASSIGN_OR_RETURN(correction.mode, ParseImportanceMode(algorithm.importance_correction));
  correction.clip_max = algorithm.importance_clip_max;
  correction.clip_min = NoneAt(0, algorithm.importance_clip_min);
  RETURN_IF_ERROR(WithContext(ValidateImportanceOptions(correction), "[algorithm]"));
  return correction;
}

MinibatchUnit UnitOf(const AlgorithmConfig& algorithm) {
  if (algorithm.minibatches_of == "decisions") return MinibatchUnit::kDecision;
  return algorithm.minibatches_of == "episodes" ? MinibatchUnit::kEpisode : MinibatchUnit::kGroup;
}

// The keys of names whose value "" is the algorithm's own.
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
    {"clip", &AlgorithmConfig::clip,
     [](const AlgorithmRow& row) { return std::string(ClipName(EffectiveClip(row.loss))); }},
    {"aggregation", &AlgorithmConfig::aggregation,
     [](const AlgorithmRow& row) { return std::string(AggregationName(EffectiveAggregation(row.loss))); }},
    {"importance_sampling_level", &AlgorithmConfig::importance_sampling_level,
     [](const AlgorithmRow& row) { return std::string(ImportanceLevelName(row.loss.importance_sampling_level)); }},
    {"kl_estimator", &AlgorithmConfig::kl_estimator,
     [](const AlgorithmRow& row) { return std::string(KlEstimatorName(Estimator(row))); }},
    {"use_bias_correction_kl", &AlgorithmConfig::use_bias_correction_kl,
     [](const AlgorithmRow& row) { return OnOrOff(row.loss.use_bias_correction_kl); }},
    {"kl_in_reward", &AlgorithmConfig::kl_in_reward, [](const AlgorithmRow& row) { return OnOrOff(KlInReward(row)); }},
};

// Writes the row's values into keys that have its own value and for which `is_wanted` is true; returns their names.
std::vector<std::string> Fill(const AlgorithmRow& row, const std::function<bool(absl::string_view)>& is_wanted,
                              AlgorithmConfig* algorithm) {
  std::vector<std::string> filled;
  const auto fill = [&](auto& key, const auto& unset, const auto& value, absl::string_view key_name) {
    if (key != unset || !is_wanted(key_name)) return;
    key = value;
    filled.push_back(absl::StrCat("algorithm.", key_name));
  };
  fill(algorithm->loss_type, "", std::string(LossTypeName(row.loss.loss_type)), "loss_type");
  fill(algorithm->scale_rewards, "", std::string(ScaleRewardsName(row.advantage.scale_rewards)), "scale_rewards");
  fill(algorithm->epsilon, -1, row.loss.epsilon, "epsilon");
  fill(algorithm->epsilon_high, -1, row.loss.epsilon_high, "epsilon_high");
  fill(algorithm->beta, -1, Beta(row), "beta");
  fill(algorithm->gamma, -1, row.advantage.gamma, "gamma");
  fill(algorithm->num_iterations, 0, row.update.num_iterations, "num_iterations");
  for (const OwnChoice& choice : kOwnChoices) fill(algorithm->*choice.value, "", choice.of(row), choice.key);
  return filled;
}

}  // namespace

absl::StatusOr<AlgorithmRow> AlgorithmOf(const AlgorithmConfig& algorithm) {
  RETURN_IF_ERROR(ParseRewardChoice(algorithm).status());
  ASSIGN_OR_RETURN(AlgorithmRow row, FindAlgorithm(algorithm.name));
  if (!algorithm.loss_type.empty()) {
    ASSIGN_OR_RETURN(const LossType loss_type, ParseLossType(algorithm.loss_type));
    SetLossType(loss_type, &row);
  }
  RETURN_IF_ERROR(SetAdvantages(algorithm, &row.advantage));
  RETURN_IF_ERROR(SetPlaceOfDivergence(algorithm, &row));
  RETURN_IF_ERROR(SetLoss(algorithm, &row));
  RETURN_IF_ERROR(CheckExactDivergence(algorithm, row));
  if (algorithm.beta != -1) SetBeta(algorithm.beta, &row);
  row.value = {NoneAt(0, algorithm.cliprange_value), algorithm.vf_coef};
  ASSIGN_OR_RETURN(row.correction, CorrectionOf(algorithm));
  row.update = {.num_iterations = algorithm.num_iterations > 0 ? algorithm.num_iterations : row.update.num_iterations,
                .num_mini_batches = algorithm.num_mini_batches,
                .mini_batch_size = algorithm.mini_batch_size,
                .unit = UnitOf(algorithm),
                .target_kl = algorithm.target_kl,
                .target_kl_of = algorithm.target_kl_of == "iterations" ? EarlyStop::kIteration : EarlyStop::kMinibatch};
  row.optimal = algorithm.optimal;
  row.baseline_decay = algorithm.baseline_decay;
  row.mask_truncated_completions = algorithm.mask_truncated_completions;
  row.dynamic_sampling = algorithm.dynamic_sampling;
  row.kl = algorithm.kl;
  row.kl.initial = Beta(row);
  row.entropy = algorithm.entropy;
  row.reference = {algorithm.sync_ref_model ? algorithm.ref_model_sync_steps : 0, algorithm.ref_model_mixup_alpha};
  RETURN_IF_ERROR(CheckRow(row));
  if (algorithm.kl.schedule != KlSchedule::kFixed) {  // an initial weight of 0 may change
    AlgorithmRow later = row;
    SetBeta(std::max(Beta(row), 1.0), &later);
    RETURN_IF_ERROR(CheckRow(later));
  }
  return row;
}

absl::StatusOr<models::ValueModel> ValueModelOf(const AlgorithmConfig& algorithm) {
  ASSIGN_OR_RETURN(const AlgorithmRow row, AlgorithmOf(algorithm));
  if (!NeedsValues(row)) return models::ValueModel::kNone;
  return algorithm.value_model == "network" ? models::ValueModel::kNetwork : models::ValueModel::kHead;
}

absl::StatusOr<std::vector<std::string>> FillAlgorithm(AlgorithmConfig* algorithm) {
  ASSIGN_OR_RETURN(const AlgorithmRow row, AlgorithmOf(*algorithm));
  Config config;
  config.algorithm = *algorithm;
  config::FieldList list;
  Visit(list, config);
  const auto is_read = [&](absl::string_view key) { return list.Find("algorithm", key)->FirstUnmet() == nullptr; };
  return Fill(row, is_read, algorithm);
}

AlgorithmConfig WithOwnValues(AlgorithmConfig algorithm) {
  const absl::StatusOr<AlgorithmRow> row = AlgorithmOf(algorithm);
  if (row.ok()) Fill(*row, [](absl::string_view) { return true; }, &algorithm);
  return algorithm;
}

}  // namespace reprise::rl
