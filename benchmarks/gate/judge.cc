#include "benchmarks/gate/judge.h"

#include <algorithm>

#include "benchmarks/gate/mann_whitney.h"
#include "core/status/check.h"

namespace reprise::gate {

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Judgement Judge(const Samples& samples, const Bound& bound) {
  Judgement judgement;
  judgement.ratio = Median(samples.numerator) / Median(samples.denominator);
  std::vector<double> limit;  // the numerators that would be exactly at the bound
  for (double value : samples.denominator) limit.push_back(bound.ratio * value);
  judgement.chance = bound.at_least ? ProbabilityOfLargerByChance(limit, samples.numerator)
                                    : ProbabilityOfLargerByChance(samples.numerator, limit);
  const bool within = bound.at_least ? judgement.ratio >= bound.ratio : judgement.ratio <= bound.ratio;
  if (within) return judgement;
  judgement.outcome = judgement.chance < kSignificance ? Outcome::kFell : Outcome::kUncertain;
  return judgement;
}

}  // namespace reprise::gate
