#include "rl/loss/sequence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

absl::Status CheckFiniteTokens(const Sequence& sequence, absl::Span<const double> value_T, absl::string_view name) {
  for (size_t t = 0; t < value_T.size(); ++t) {
    if (sequence.Counts(static_cast<int64_t>(t)) && !std::isfinite(value_T[t])) {
      return absl::InternalError(absl::StrCat(name, " of token ", t, " is ", value_T[t]));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t Sequence::num_tokens() const {
  int64_t tokens = 0;
  for (int64_t t = 0; t < size(); ++t) tokens += Counts(t) ? 1 : 0;
  return tokens;
}

absl::Status CheckFinite(const Sequence& sequence) {
  if (!std::isfinite(sequence.advantage)) {
    return absl::InternalError(absl::StrCat("advantage is ", sequence.advantage));
  }
  if (!std::isfinite(sequence.weight)) return absl::InternalError(absl::StrCat("weight is ", sequence.weight));
  RETURN_IF_ERROR(CheckFiniteTokens(sequence, sequence.advantage_T, "advantage"));
  RETURN_IF_ERROR(CheckFiniteTokens(sequence, sequence.importance_weight_T, "importance_weight"));
  RETURN_IF_ERROR(CheckFiniteTokens(sequence, sequence.exact_kl_T, "exact_kl"));
  RETURN_IF_ERROR(CheckFiniteTokens(sequence, sequence.logprob_T, "logprob"));
  RETURN_IF_ERROR(CheckFiniteTokens(sequence, sequence.old_logprob_T, "old_logprob"));
  RETURN_IF_ERROR(CheckFiniteTokens(sequence, sequence.ref_logprob_T, "ref_logprob"));
  return CheckFiniteTokens(sequence, sequence.entropy_T, "entropy");
}

double TopEntropyThreshold(absl::Span<const double> entropies, double top_entropy_quantile) {
  if (top_entropy_quantile >= 1.0 || entropies.empty()) return -std::numeric_limits<double>::infinity();
  const auto is_nan = [](double entropy) { return std::isnan(entropy); };
  // Numbers that have no order; the loss refuses them (CheckFinite).
  if (std::any_of(entropies.begin(), entropies.end(), is_nan)) return -std::numeric_limits<double>::infinity();
  std::vector<float> sorted(entropies.begin(), entropies.end());
  std::sort(sorted.begin(), sorted.end());
  const float rank = static_cast<float>(1.0 - top_entropy_quantile) * static_cast<float>(sorted.size() - 1);
  const size_t below = std::min(static_cast<size_t>(std::floor(rank)), sorted.size() - 1);  // rank may round up
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const float weight = rank - static_cast<float>(below);
  const float step = sorted[above] - sorted[below];
  // Interpolates from the nearer end, so that both ends are exact.
  return weight < 0.5f ? sorted[below] + weight * step : sorted[above] - (1.0f - weight) * step;
}

}  // namespace reprise::rl
