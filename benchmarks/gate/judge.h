#ifndef BENCHMARKS_GATE_JUDGE_H_
#define BENCHMARKS_GATE_JUDGE_H_

// Judges whether the ratio of two measured numbers is within a bound. Pure.

#include <vector>

namespace reprise::gate {

// The probability that noise alone makes one look at a gate appear failed whose true ratio is exactly at its bound.
inline constexpr double kSignificance = 0.01;
// With fewer repetitions, no result could be significant: one of 252 orders of five and five has probability 0.004.
inline constexpr int kFewestRepetitions = 5;

// Measurements in the same unit.
struct Samples {
  std::vector<double> numerator, denominator;
};

struct Bound {
  bool at_least = false;  // false: at most
  double ratio = 1;
};

enum class Outcome {
  kHeld,       // the ratio of the medians is within the bound
  kUncertain,  // the ratio is beyond the bound, but not significantly
  kFell,       // the ratio is significantly beyond the bound: the gate failed
  kReported,   // there is no bound (Decide): the ratio is only reported
};

struct Judgement {
  Outcome outcome = Outcome::kHeld;
  double ratio = 0;   // of the medians
  double chance = 1;  // the probability that values whose ratio is the bound would be ordered as badly
};

// Both samples must have positive values; CHECKs that they are not empty.
Judgement Judge(const Samples& samples, const Bound& bound);

// Returns the median of a sample, which must not be empty.
double Median(std::vector<double> values);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_JUDGE_H_
