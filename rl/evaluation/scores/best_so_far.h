#ifndef RL_EVALUATION_SCORES_BEST_SO_FAR_H_
#define RL_EVALUATION_SCORES_BEST_SO_FAR_H_

// Tracks which evaluation of a run was the best one, and whether early stopping is triggered. As Hugging Face's
// EarlyStoppingCallback (early_stopping_patience, early_stopping_threshold), with one difference: what counts for the
// patience is compared with the last evaluation that counted, not with the best one, so that a metric that rises by
// less than the threshold at a time does not end the run.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace reprise::rl {

struct BestOptions {
  bool greater_is_better = true;
  int64_t patience = 0;    // training ends after so many consecutive evaluations that do not count; 0: never
  double threshold = 0.0;  // an evaluation counts if it is better by more than this
};

struct BestSoFar {
  int64_t step = 0;      // of the best evaluation, the first among equals; 0: none yet
  double value = 0.0;    // its metric
  double counted = 0.0;  // the metric of the last evaluation that counted
  int64_t waited = 0;    // evaluations since then

  bool operator==(const BestSoFar&) const = default;
};

// Returns the state after the evaluation of `step` (at least 1) with metric `value` (finite; checked). Pure.
BestSoFar NextBest(const BestSoFar& best, const BestOptions& options, int64_t step, double value);

// Returns whether early stopping is triggered.
inline bool HasWaitedEnough(const BestSoFar& best, const BestOptions& options) {
  return options.patience > 0 && best.waited >= options.patience;
}

// Returns the count or step that a stored number is, 0 if it is none: files may contain any number. Pure.
int64_t StoredCount(double number);

inline constexpr size_t kBestNumbers = 4;

// Convert to plain numbers and back, exactly. BestFromNumbers takes kBestNumbers numbers (checked).
std::vector<double> BestToNumbers(const BestSoFar& best);
BestSoFar BestFromNumbers(absl::Span<const double> numbers);

}  // namespace reprise::rl

#endif  // RL_EVALUATION_SCORES_BEST_SO_FAR_H_
