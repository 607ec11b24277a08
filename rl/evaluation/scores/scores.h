#ifndef RL_EVALUATION_SCORES_SCORES_H_
#define RL_EVALUATION_SCORES_SCORES_H_

// Computes the metrics of an evaluation from the policy's score on each held-out problem. With P problems and n samples
// of each:
//   eval_greedy_accuracy       share of problems whose most probable answer is correct; interval: Wilson's
//   eval_greedy_reward         mean reward of those answers
//   eval_mean@n                share of samples that are correct; interval: of a mean over problems
//   eval_pass@k                mean over problems of PassAtK, for k = 1, 2, 4, ... and n; interval as above
//   eval_reward                mean reward of the samples
//   eval_completions/mean_length   tokens of the policy in a sample
// eval_greedy_accuracy, eval_mean@n and eval_pass@k exist only where it is defined which answers are correct.
// An interval is two more metrics, with _low and _high appended to the name. Without samples there are only the greedy
// metrics. Rewards that are NaN (unscorable) are left out of their means; a mean without any reward is not reported.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace reprise::rl {

// Returns the probability that at least one of k samples is correct, estimated without bias from n samples of which c
// were (Chen et al., 2021, arXiv 2107.03374, equation 1):
//   pass@k = 1 - C(n - c, k) / C(n, k) = 1 - product over i from n - c + 1 to n of (1 - k / i)
// The product is that of their section 2.1, ascending in i: no binomial overflows. k = 1 is c / n, the mean.
// 0 <= c <= n, 1 <= k <= n (checked). Pure.
double PassAtK(int64_t n, int64_t c, int64_t k);

// A 95% confidence interval: 95% of such intervals contain the true value.
struct Interval {
  double low = 0, high = 1;

  bool operator==(const Interval&) const = default;
};

inline constexpr double kZ95 = 1.959963984540054;  // two-sided quantile of the normal distribution

// Returns the interval of a proportion, c of n (Wilson, 1927, "Probable inference, the law of succession, and
// statistical inference"):
//   (p + z^2/2n -+ z sqrt(p (1 - p) / n + z^2/4n^2)) / (1 + z^2/n),  p = c / n
// Within [0, 1], with a width above 0 even where c is 0 or n. n = 0: [0, 1]. 0 <= c <= n (checked). Pure.
Interval WilsonInterval(int64_t n, int64_t c);

// Returns the interval of the mean of n numbers within [0, 1], one per problem: problems are independent, the samples
// of one problem need not be (Miller, 2024, arXiv 2411.00640, section 2.1). z^2/2 zeros and z^2/2 ones are added to the
// numbers; with the mean m and the variance v (over n + z^2) of all:
//   m -+ z sqrt(v / (n + z^2)),  cut to [0, 1]
// Of numbers that are 0 or 1 this is the interval of Agresti and Coull (1998, "Approximate is better than 'exact' for
// interval estimation of binomial proportions"), which contains Wilson's (Brown, Cai and DasGupta, 2001, "Interval
// estimation for a binomial proportion"). The mean of the numbers is within it, and its width is above 0 even where all
// numbers are equal, for which s / sqrt(n) would be 0. n = 0: [0, 1]. Pure.
Interval MeanInterval(absl::Span<const double> values);

// The score of one problem. Plain data: sent between ranks as bytes.
struct ProblemScore {
  int64_t prompt = 0;          // index among the held-out problems
  int64_t greedy_correct = 0;  // 1 or 0
  double greedy_reward = 0;    // NaN: unscorable
  int64_t correct = 0;         // number of correct samples
  double reward = 0;           // mean over the samples; NaN: none could be scored
  int64_t tokens = 0;          // the policy's tokens in all samples

  bool operator==(const ProblemScore&) const = default;
};

// Returns the metrics above, sorted by name. score_P: at least one, in order; n: samples of each; has_accuracy: whether
// `correct` is defined. Sums in double, in fixed trees. Pure.
std::vector<std::pair<std::string, double>> ScoreMetrics(absl::Span<const ProblemScore> score_P, int64_t n,
                                                         bool has_accuracy = true);

// Returns the names of ScoreMetrics where every mean has a reward.
std::vector<std::string> ScoreMetricNames(int64_t n, bool has_accuracy = true);

}  // namespace reprise::rl

#endif  // RL_EVALUATION_SCORES_SCORES_H_
