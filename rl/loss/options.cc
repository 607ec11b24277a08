#include "rl/loss/options.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/config/unknown_name.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

// In the order of the enumerations.
constexpr absl::string_view kLossTypes[] = {"grpo", "bnpo",  "dr_grpo", "dapo", "cispo",
                                            "sapo", "luspo", "vespo",   "rloo"};
constexpr absl::string_view kLevels[] = {"token", "sequence", "sequence_sum"};
constexpr absl::string_view kClips[] = {"two_sided", "cispo",     "sapo", "vespo",
                                        "none",      "reinforce", "gmpo", "regression"};
constexpr absl::string_view kAggregations[] = {"grpo",  "bnpo", "dr_grpo",       "dapo",
                                               "luspo", "sum",  "sequence_mean", "turn_mean"};
constexpr absl::string_view kEstimators[] = {"k1", "k2", "k3", "exact"};

// `in_range` is false for NaN, as every comparison with it is.
absl::Status Require(bool in_range, absl::string_view key, double value, absl::string_view range) {
  if (in_range && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(key, " is ", value, "; expected ", range));
}

absl::Status ValidateClipping(const LossOptions& o) {
  RETURN_IF_ERROR(Require(o.epsilon >= 0 && o.epsilon <= 1, "epsilon", o.epsilon, "0 to 1"));
  RETURN_IF_ERROR(Require(o.epsilon_high >= 0, "epsilon_high", o.epsilon_high, "a number >= 0"));
  if (o.delta) RETURN_IF_ERROR(Require(*o.delta > 1, "delta", *o.delta, "a number > 1, or none"));
  if (o.dual_clip) RETURN_IF_ERROR(Require(*o.dual_clip > 1, "dual_clip", *o.dual_clip, "a number > 1, or none"));
  return absl::OkStatus();
}

absl::Status ValidateRloo(const LossOptions& o) {
  const bool rloo = o.loss_type == LossType::kRloo;
  const bool sum = o.importance_sampling_level == ImportanceLevel::kSequenceSum;
  if (rloo != sum) {
    return absl::InvalidArgumentError(
        absl::StrCat("loss_type ", LossTypeName(o.loss_type), " cannot be combined with importance_sampling_level ",
                     ImportanceLevelName(o.importance_sampling_level), "; rloo and sequence_sum require each other"));
  }
  if (rloo && EffectiveAggregation(o) != Aggregation::kGrpo) {
    return absl::InvalidArgumentError(absl::StrCat("aggregation ", AggregationName(EffectiveAggregation(o)),
                                                   " cannot be combined with loss_type rloo, which has one term per "
                                                   "sequence; leave aggregation unset"));
  }
  const Clip clip = EffectiveClip(o);
  if (rloo && clip != Clip::kTwoSided && clip != Clip::kSapo && clip != Clip::kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat("clip ", ClipName(clip),
                     " cannot be combined with loss_type rloo, which has one term per sequence, "
                     "computed from its ratio and not from each token's log-prob; choose two_sided, "
                     "sapo or none"));
  }
  if (rloo && (o.beta != 0 || o.delta || o.off_policy_mask_threshold || o.top_entropy_quantile != 1)) {
    return absl::InvalidArgumentError(
        "loss_type rloo has one term per sequence: beta, delta, off_policy_mask_threshold and top_entropy_quantile do "
        "not apply; subtract the divergence from the reward instead");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LossType> ParseLossType(absl::string_view name) {
  return ParseName<LossType>("loss_type", name, kLossTypes);
}

absl::string_view LossTypeName(LossType type) { return kLossTypes[static_cast<size_t>(type)]; }

std::vector<absl::string_view> LossTypeNames() { return {std::begin(kLossTypes), std::end(kLossTypes)}; }

absl::StatusOr<ImportanceLevel> ParseImportanceLevel(absl::string_view name) {
  return ParseName<ImportanceLevel>("importance_sampling_level", name, kLevels);
}

absl::string_view ImportanceLevelName(ImportanceLevel level) { return kLevels[static_cast<size_t>(level)]; }

absl::StatusOr<Clip> ParseClip(absl::string_view name) { return ParseName<Clip>("clip", name, kClips); }

absl::string_view ClipName(Clip clip) { return kClips[static_cast<size_t>(clip)]; }

absl::StatusOr<Aggregation> ParseAggregation(absl::string_view name) {
  return ParseName<Aggregation>("aggregation", name, kAggregations);
}

absl::string_view AggregationName(Aggregation aggregation) { return kAggregations[static_cast<size_t>(aggregation)]; }

absl::StatusOr<KlEstimator> ParseKlEstimator(absl::string_view name) {
  return ParseName<KlEstimator>("kl_estimator", name, kEstimators);
}

absl::string_view KlEstimatorName(KlEstimator estimator) { return kEstimators[static_cast<size_t>(estimator)]; }

Clip EffectiveClip(const LossOptions& options) {
  if (options.clip) return *options.clip;
  switch (options.loss_type) {
    case LossType::kCispo:
      return Clip::kCispo;
    case LossType::kSapo:
      return Clip::kSapo;
    case LossType::kVespo:
      return Clip::kVespo;
    default:
      return Clip::kTwoSided;
  }
}

Aggregation EffectiveAggregation(const LossOptions& options) {
  if (options.aggregation) return *options.aggregation;
  switch (options.loss_type) {
    case LossType::kGrpo:
    case LossType::kSapo:
    case LossType::kRloo:
      return Aggregation::kGrpo;
    case LossType::kBnpo:
      return Aggregation::kBnpo;
    case LossType::kDrGrpo:
      return Aggregation::kDrGrpo;
    case LossType::kLuspo:
      return Aggregation::kLuspo;
    case LossType::kDapo:
    case LossType::kCispo:
    case LossType::kVespo:
      break;
  }
  return Aggregation::kDapo;
}

bool HasOneTerm(const LossOptions& options) {
  const Clip clip = EffectiveClip(options);
  return options.loss_type == LossType::kRloo || clip == Clip::kGmpo || clip == Clip::kRegression;
}

absl::Status ValidateLossOptions(const LossOptions& o) {
  RETURN_IF_ERROR(ValidateClipping(o));
  RETURN_IF_ERROR(Require(o.beta >= 0, "beta", o.beta, "a number >= 0"));
  RETURN_IF_ERROR(Require(o.max_completion_length >= 1, "max_completion_length",
                          static_cast<double>(o.max_completion_length), "at least 1"));
  RETURN_IF_ERROR(Require(o.sapo_temperature_pos > 0, "sapo_temperature_pos", o.sapo_temperature_pos, "a number > 0"));
  RETURN_IF_ERROR(Require(o.sapo_temperature_neg > 0, "sapo_temperature_neg", o.sapo_temperature_neg, "a number > 0"));
  RETURN_IF_ERROR(Require(o.top_entropy_quantile > 0 && o.top_entropy_quantile <= 1, "top_entropy_quantile",
                          o.top_entropy_quantile, "more than 0 and at most 1"));
  RETURN_IF_ERROR(Require(true, "entropy_coef", o.entropy_coef, "a finite number"));
  RETURN_IF_ERROR(Require(o.regression_beta > 0, "beta2", o.regression_beta, "a number > 0"));
  if (EffectiveClip(o) == Clip::kRegression && o.top_entropy_quantile != 1) {
    return absl::InvalidArgumentError(absl::StrCat("top_entropy_quantile ", o.top_entropy_quantile,
                                                   " cannot be combined with clip regression, which uses all tokens; "
                                                   "leave it at 1"));
  }
  return ValidateRloo(o);
}

}  // namespace reprise::rl
