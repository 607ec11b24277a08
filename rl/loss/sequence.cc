#include "rl/loss/sequence.h"

#include <cmath>

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

}  // namespace reprise::rl
