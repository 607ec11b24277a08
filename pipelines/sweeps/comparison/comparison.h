#ifndef PIPELINES_SWEEPS_COMPARISON_COMPARISON_H_
#define PIPELINES_SWEEPS_COMPARISON_COMPARISON_H_

// Decides which of two variants is better from one score for each seed. Two trials that share a seed share their tasks
// and draws, so that much of what varies between seeds is in both scores, and not in their difference. All functions
// are pure; sums are in the order of the arguments.

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace reprise {

double Mean(absl::Span<const double> values);  // of at least one
// The unbiased estimate, with n - 1; 0 for one value.
double StandardDeviation(absl::Span<const double> values);

// The mean of the middle half: without the floor(n / 4) least and the floor(n / 4) greatest values (Agarwal et al.,
// 2021, "Deep reinforcement learning at the edge of the statistical precipice", arXiv 2108.13264, section 4.3; as
// scipy.stats.trim_mean(values, 0.25)).
double InterquartileMean(absl::Span<const double> values);

// The probability that a score of `b` is greater than one of `a`, ties counted half, over all pairs (their section 4.3,
// Mann and Whitney's U).
double ProbabilityOfImprovement(absl::Span<const double> a, absl::Span<const double> b);

struct ConfidenceInterval {
  double low = 0, high = 0;
};

// A difference b - a, its confidence interval, and the probability of one at least as large if there were none.
struct Difference {
  int64_t n = 0;  // pairs, or the scores of both
  double value = 0;
  double deviation = 0;              // of one pair's difference; unpaired: of the difference of one score of each
  ConfidenceInterval interval = {};  // infinite where nothing is known of the spread
  double p = 1;
};

// By Student's t of the differences b[i] - a[i]; equal sizes (checked). One pair decides nothing: p is 1. Differences
// that are all equal (scores that are multiples of 1/n often tie) say nothing of their spread, so that Student's t does
// not apply, and would take two of them for a certainty. Their p is that of the exact test of signs, 2^(1 - n): if
// there were no difference, each would have either sign with probability 1/2. It is 1 if they are 0. The deviation is
// then 0, also where the last bits differ, and the interval infinite.
Difference PairedDifference(absl::Span<const double> a, absl::Span<const double> b, double confidence);

// By Welch's t ("The generalization of Student's problem when several different population variances are involved",
// 1947), which ignores what is shared. At least two scores of each are needed to decide. Where all scores of each side
// are equal, p is that of the exact permutation test, 2 / C(n + m, n), and the interval infinite.
Difference UnpairedDifference(absl::Span<const double> a, absl::Span<const double> b, double confidence);

// Returns the p-values of Holm's procedure (1979, "A simple sequentially rejective multiple test procedure"), in the
// order of `p`: those below a level hold together at that level. `family`: the number of tests, if it is greater than
// that of `p`; the p of the others, which nobody has computed, are taken as 1.
std::vector<double> HolmAdjusted(absl::Span<const double> p, int64_t family = 0);

// Returns how many seeds a comparison needs, so that a true difference as large as `difference` has a p below
// 1 - `confidence`, without a correction for other comparisons, in the given share of cases (`power`): the least n >= 2
// with that power (Cohen, 1988, Statistical Power Analysis for the Behavioral Sciences, chapter 2), which is that of
// the noncentral t distribution with noncentrality |difference| sqrt(n) / deviation and d degrees of freedom,
//   P(|T| >= t(confidence, d)) >= power
// where d is n - 1 for paired scores and 2 n - 2 for unpaired ones, as of equal variances; with a deviation of 0 the
// least n whose exact test (above) can decide. confidence in [0.5, 0.999] and power in (0, 0.88] (checked). Returns 0
// if more than a million are needed.
int64_t SeedsNeeded(double difference, double deviation, double confidence, double power, bool is_paired);

// Returns an interval between percentiles of `statistic` over resamples (Efron, 1979): resample r of sample k consists
// of the elements that Draw(kSweepBootstrap) names for r, `what` and k. Each sample is resampled on its own, as Agarwal
// et al. do.
ConfidenceInterval BootstrapInterval(const std::vector<std::vector<double>>& samples, int64_t resamples,
                                     double confidence, int64_t what,
                                     const std::function<double(const std::vector<std::vector<double>>&)>& statistic);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_COMPARISON_COMPARISON_H_
