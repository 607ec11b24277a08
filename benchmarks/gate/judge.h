#ifndef BENCHMARKS_GATE_JUDGE_H_
#define BENCHMARKS_GATE_JUDGE_H_

// What measurements say about a bound on their ratio. Pure.

#include <vector>

namespace reprise::gate {

// The chance that noise alone makes one look at a gate fall whose true ratio is exactly at its bound.
inline constexpr double kSignificance = 0.01;
// With fewer, no measurements could be significant: one of 252 orders of five and five is 0.004.
inline constexpr int kFewestRepetitions = 5;

// As measured, in the same unit.
struct Samples {
  std::vector<double> numerator, denominator;
};

struct Bound {
  bool at_least = false;  // else at most
  double ratio = 1;
};

enum class Outcome {
  kHeld,       // the ratio of the medians is within the bound
  kUncertain,  // it is beyond, and noise explains that
  kFell,       // it is beyond, and noise does not
  kTold,       // there is no bound (Decide)
};

struct Judgement {
  Outcome outcome = Outcome::kHeld;
  double ratio = 0;   // of the medians
  double chance = 1;  // that values of the bound's own ratio would look as bad
};

// Both samples hold positive values (checked: not empty).
Judgement Judge(const Samples& samples, const Bound& bound);

// Of a sample that is not empty.
double Median(std::vector<double> values);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_JUDGE_H_
