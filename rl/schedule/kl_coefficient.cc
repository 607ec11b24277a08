#include "rl/schedule/kl_coefficient.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

constexpr double kGreatestError = 0.2;

absl::Status Require(bool in_range, absl::string_view key, double value, absl::string_view range) {
  if (in_range && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(key, " is ", value, "; expected ", range));
}

double Linear(const KlOptions& options, int64_t updates) {
  const double share = static_cast<double>(updates) / static_cast<double>(options.total_updates);
  return options.initial + (options.final - options.initial) * std::min(share, 1.0);
}

double Proportional(const KlOptions& options, double coefficient, double kl, int64_t num_samples) {
  const double error = std::clamp(kl / options.target - 1.0, -kGreatestError, kGreatestError);
  return coefficient * (1.0 + error * static_cast<double>(num_samples) / options.horizon);
}

double Mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Banded(const KlOptions& options, double coefficient, double mean_kl) {
  if (mean_kl > options.target + options.tolerance) coefficient *= options.rate;
  if (mean_kl < options.target - options.tolerance) coefficient /= options.rate;
  return std::clamp(coefficient, options.low, options.high);
}

}  // namespace

absl::Status ValidateKlOptions(const KlOptions& o) {
  RETURN_IF_ERROR(Require(o.initial >= 0, "beta", o.initial, "a number >= 0"));
  RETURN_IF_ERROR(Require(o.final >= 0, "final_beta", o.final, "a number >= 0"));
  RETURN_IF_ERROR(Require(o.total_updates >= 1, "total_updates", static_cast<double>(o.total_updates), "at least 1"));
  RETURN_IF_ERROR(Require(o.target > 0, "target_kl", o.target, "a number > 0"));
  RETURN_IF_ERROR(Require(o.horizon > 0, "horizon", o.horizon, "a number > 0"));
  RETURN_IF_ERROR(Require(o.tolerance >= 0, "kl_tolerance", o.tolerance, "a number >= 0"));
  RETURN_IF_ERROR(Require(o.rate >= 1, "kl_rate", o.rate, "a number >= 1"));
  RETURN_IF_ERROR(Require(o.low >= 0, "kl_low", o.low, "a number >= 0"));
  RETURN_IF_ERROR(Require(o.high >= o.low, "kl_high", o.high, "a number >= kl_low"));
  RETURN_IF_ERROR(Require(o.interval >= 1, "kl_interval", static_cast<double>(o.interval), "at least 1"));
  return Require(o.patience >= 0, "kl_patience", static_cast<double>(o.patience), "a number >= 0");
}

KlState InitialKlState(const KlOptions& options) { return {.coefficient = options.initial}; }

KlState NextKlState(const KlState& state, const KlOptions& options, std::optional<double> kl, int64_t num_samples) {
  const bool by_kl = options.schedule == KlSchedule::kProportional || options.schedule == KlSchedule::kBanded;
  if (by_kl && !kl) return state;
  if (kl) CHECK(std::isfinite(*kl));
  KlState next = state;
  ++next.updates;
  switch (options.schedule) {
    case KlSchedule::kFixed:
      break;
    case KlSchedule::kLinear:
      next.coefficient = Linear(options, next.updates);
      break;
    case KlSchedule::kProportional:
      next.coefficient = Proportional(options, state.coefficient, *kl, num_samples);
      break;
    case KlSchedule::kBanded:
      next.recent_kl.push_back(*kl);
      if (next.updates % options.interval != 0) break;
      if (next.updates >= options.patience) {
        next.coefficient = Banded(options, state.coefficient, Mean(next.recent_kl));
      }
      next.recent_kl.clear();
      break;
  }
  return next;
}

}  // namespace reprise::rl
