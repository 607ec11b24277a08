#ifndef RL_LOSS_IMPORTANCE_CORRECTION_H_
#define RL_LOSS_IMPORTANCE_CORRECTION_H_

// Correction for tokens drawn from a distribution (the behaviour: the policy's own, filtered by top_k, top_p or
// min_new_tokens, one that explores, or that of thoughts, which never draw a delimiter) other than the one whose
// log-probs are old_logprob_T (truncated importance sampling; Yao et al., 2025), as TRL's
// vllm_importance_sampling_mode:
//   w_t = exp(old_t - sampler_t)  of a token,   w = exp(sum_t (old_t - sampler_t))  of the whole sequence
//   truncate: max(clip_min, min(w, clip_max)),   mask: w where clip_min <= w <= clip_max, else 0.
// A factor of the policy term that carries no gradient; the divergence and the entropy bonus are not weighted. Where
// the behaviour is the policy every weight is exactly 1. The logarithm is clamped to [-20, 20] before exp (TRL does
// not).

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::rl {

enum class ImportanceMode { kNone, kTokenTruncate, kTokenMask, kSequenceTruncate, kSequenceMask };

// "none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask".
absl::StatusOr<ImportanceMode> ParseImportanceMode(absl::string_view name);
absl::string_view ImportanceModeName(ImportanceMode mode);

struct ImportanceOptions {
  ImportanceMode mode = ImportanceMode::kNone;
  double clip_max = 3.0;
  std::optional<double> clip_min = {};

  bool operator==(const ImportanceOptions&) const = default;
};

// Returns InvalidArgument, with key, value and range.
absl::Status ValidateImportanceOptions(const ImportanceOptions& options);

// Returns Sequence::importance_weight_T; empty for kNone. old_logprob_T: under the policy in training, before its first
// update with these tokens; sampler_logprob_T: under the behaviour. 0 at masked tokens, which are not read. Pure.
std::vector<double> ImportanceWeights(absl::Span<const double> old_logprob_T,
                                      absl::Span<const double> sampler_logprob_T, absl::Span<const uint8_t> mask_T,
                                      const ImportanceOptions& options);

}  // namespace reprise::rl

#endif  // RL_LOSS_IMPORTANCE_CORRECTION_H_
