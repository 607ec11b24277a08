#include "rl/value/value_loss.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "kernels/sums/sums.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {
namespace {

struct TokenValue {
  double square = 0.0;
  double half_slope = 0.0;  // d (square / 2) / d value
  bool clipped = false;
};

TokenValue Evaluate(double value, double old_value, double target, const std::optional<double>& range) {
  const double error = value - target;
  TokenValue plain = {.square = error * error, .half_slope = error};
  if (!range) return plain;
  const double low = old_value - *range, high = old_value + *range;
  const double clipped_error = std::clamp(value, low, high) - target;
  if (clipped_error * clipped_error <= plain.square) return plain;
  // Only outside the range can the clipped branch be greater, and there it is constant.
  return {.square = clipped_error * clipped_error, .half_slope = 0.0, .clipped = true};
}

}  // namespace

absl::Status ValidateValueLossOptions(const ValueLossOptions& options) {
  const auto refuse = [](absl::string_view key, double value, absl::string_view range) {
    return absl::InvalidArgumentError(absl::StrCat(key, " is ", value, "; expected ", range));
  };
  if (options.cliprange_value && !(*options.cliprange_value > 0 && std::isfinite(*options.cliprange_value))) {
    return refuse("cliprange_value", *options.cliprange_value, "a number > 0, or none");
  }
  if (!(options.vf_coef >= 0 && std::isfinite(options.vf_coef))) {
    return refuse("vf_coef", options.vf_coef, "a number >= 0");
  }
  return absl::OkStatus();
}

ValueLoss SequenceValueLoss(const ValueSequence& sequence, const ValueLossOptions& options,
                            const LossNormalizer& normalizer) {
  const size_t T = sequence.value_T.size();
  CHECK_EQ(sequence.return_T.size(), T);
  if (options.cliprange_value) CHECK_EQ(sequence.old_value_T.size(), T);
  if (!sequence.mask_T.empty()) CHECK_EQ(sequence.mask_T.size(), T);
  const double weight = options.vf_coef / std::max(normalizer.num_tokens, 1.0);
  ValueLoss result;
  result.dloss_dvalue_T.assign(T, 0.0);
  std::vector<double> loss_T(T, 0.0);
  for (size_t t = 0; t < T; ++t) {
    if (!sequence.mask_T.empty() && sequence.mask_T[t] == 0) continue;
    const double old_value = options.cliprange_value ? sequence.old_value_T[t] : 0.0;
    const TokenValue token = Evaluate(sequence.value_T[t], old_value, sequence.return_T[t], options.cliprange_value);
    loss_T[t] = weight * 0.5 * token.square;
    result.dloss_dvalue_T[t] = weight * token.half_slope;
    result.clipped += token.clipped ? 1 : 0;
    ++result.num_tokens;
  }
  result.loss = kernels::TreeSum(loss_T);
  return result;
}

double ExplainedVariance(absl::Span<const double> values, absl::Span<const double> returns) {
  CHECK_EQ(values.size(), returns.size());
  if (AllScorableEqual(returns)) return 0.0;
  std::vector<double> errors;
  for (size_t i = 0; i < values.size(); ++i) errors.push_back(returns[i] - values[i]);
  const double unexplained = DeviationOfScorable(errors) / DeviationOfScorable(returns);
  return 1.0 - unexplained * unexplained;
}

}  // namespace reprise::rl
