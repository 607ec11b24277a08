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

// `in_range` is false for NaN, as every comparison with it is.
absl::Status Require(bool in_range, absl::string_view key, double value, absl::string_view range) {
  if (in_range && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(key, " is ", value, "; expected ", range));
}

absl::Status ValidateClipping(const LossOptions& o) {
  RETURN_IF_ERROR(Require(o.epsilon >= 0 && o.epsilon <= 1, "epsilon", o.epsilon, "0 to 1"));
  RETURN_IF_ERROR(Require(o.epsilon_high >= 0, "epsilon_high", o.epsilon_high, "a number >= 0"));
  if (o.delta) RETURN_IF_ERROR(Require(*o.delta > 1, "delta", *o.delta, "a number > 1, or none"));
  return absl::OkStatus();
}

absl::Status ValidateRloo(const LossOptions& o) {
  const bool rloo = o.loss_type == LossType::kRloo;
  const bool sum = o.importance_sampling_level == ImportanceLevel::kSequenceSum;
  if (rloo != sum) {
    return absl::InvalidArgumentError(
        absl::StrCat("loss_type ", LossTypeName(o.loss_type), " does not go with importance_sampling_level ",
                     ImportanceLevelName(o.importance_sampling_level), "; rloo and sequence_sum belong together"));
  }
  if (rloo && (o.beta != 0 || o.delta || o.off_policy_mask_threshold || o.top_entropy_quantile != 1)) {
    return absl::InvalidArgumentError(
        "loss_type rloo is one term a sequence: beta, delta, off_policy_mask_threshold and top_entropy_quantile do "
        "not apply; take the divergence from the reward instead");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LossType> ParseLossType(absl::string_view name) {
  for (size_t i = 0; i < std::size(kLossTypes); ++i) {
    if (name == kLossTypes[i]) return static_cast<LossType>(i);
  }
  return UnknownName("loss_type", name, kLossTypes);
}

absl::string_view LossTypeName(LossType type) { return kLossTypes[static_cast<size_t>(type)]; }

std::vector<absl::string_view> LossTypeNames() { return {std::begin(kLossTypes), std::end(kLossTypes)}; }

absl::StatusOr<ImportanceLevel> ParseImportanceLevel(absl::string_view name) {
  for (size_t i = 0; i < std::size(kLevels); ++i) {
    if (name == kLevels[i]) return static_cast<ImportanceLevel>(i);
  }
  return UnknownName("importance_sampling_level", name, kLevels);
}

absl::string_view ImportanceLevelName(ImportanceLevel level) { return kLevels[static_cast<size_t>(level)]; }

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
  return ValidateRloo(o);
}

}  // namespace reprise::rl
