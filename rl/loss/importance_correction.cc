#include "rl/loss/importance_correction.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/config/unknown_name.h"
#include "core/status/check.h"
#include "kernels/sums/sums.h"
#include "rl/loss/ratio.h"

namespace reprise::rl {
namespace {

// In the order of the enumeration.
constexpr absl::string_view kModes[] = {"none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask"};

double Limited(double weight, const ImportanceOptions& options) {
  const double low = options.clip_min.value_or(0.0);
  switch (options.mode) {
    case ImportanceMode::kTokenTruncate:
    case ImportanceMode::kSequenceTruncate:
      return std::clamp(weight, low, options.clip_max);
    default:
      return weight < low || weight > options.clip_max ? 0.0 : weight;
  }
}

}  // namespace

absl::StatusOr<ImportanceMode> ParseImportanceMode(absl::string_view name) {
  return ParseName<ImportanceMode>("importance_sampling_mode", name, kModes);
}

absl::string_view ImportanceModeName(ImportanceMode mode) { return kModes[static_cast<size_t>(mode)]; }

absl::Status ValidateImportanceOptions(const ImportanceOptions& options) {
  if (!(options.clip_max >= 1 && std::isfinite(options.clip_max))) {
    return absl::InvalidArgumentError(
        absl::StrCat("importance_clip_max is ", options.clip_max, "; expected 1 or more"));
  }
  if (options.clip_min && !(*options.clip_min >= 0 && *options.clip_min <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("importance_clip_min is ", *options.clip_min, "; expected 0 to 1"));
  }
  return absl::OkStatus();
}

std::vector<double> ImportanceWeights(absl::Span<const double> old_logprob_T,
                                      absl::Span<const double> sampler_logprob_T, absl::Span<const uint8_t> mask_T,
                                      const ImportanceOptions& options) {
  if (options.mode == ImportanceMode::kNone) return {};
  CHECK_EQ(old_logprob_T.size(), sampler_logprob_T.size());
  // Log-ratios of the old policy to the behaviour: the behaviour takes the place of the old policy.
  const Sequence sequence = {.logprob_T = old_logprob_T, .old_logprob_T = sampler_logprob_T, .mask_T = mask_T};
  const std::vector<double> log_ratio_T = LogRatios(sequence);
  const bool whole = options.mode == ImportanceMode::kSequenceTruncate || options.mode == ImportanceMode::kSequenceMask;
  const double sum = whole ? kernels::TreeSum(log_ratio_T) : 0.0;
  std::vector<double> weight_T(log_ratio_T.size(), 0.0);
  for (int64_t t = 0; t < sequence.size(); ++t) {
    if (sequence.Counts(t)) weight_T[t] = Limited(ComputeRatio(whole ? sum : log_ratio_T[t]).value, options);
  }
  return weight_T;
}

}  // namespace reprise::rl
