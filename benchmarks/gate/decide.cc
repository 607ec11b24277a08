#include "benchmarks/gate/decide.h"

#include "core/status/status_macros.h"

namespace reprise::gate {

absl::StatusOr<Decision> Decide(const std::optional<Bound>& bound, int most_looks,
                                const std::function<absl::StatusOr<Look>()>& look) {
  Decision decision;
  bool fell_before = false;
  while (decision.looks < most_looks) {
    ++decision.looks;
    ASSIGN_OR_RETURN(const Look seen, look());
    if (seen.loaded) continue;
    if (!bound) {
      decision.judgement = {Outcome::kReported, Median(seen.samples.numerator) / Median(seen.samples.denominator), 1};
      decision.judged = true;
      break;
    }
    decision.judgement = Judge(seen.samples, *bound);
    decision.judged = decision.judgement.outcome != Outcome::kFell || fell_before;
    if (decision.judged) break;
    fell_before = true;
  }
  return decision;
}

}  // namespace reprise::gate
