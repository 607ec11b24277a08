#ifndef BENCHMARKS_GATE_DECIDE_H_
#define BENCHMARKS_GATE_DECIDE_H_

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "benchmarks/gate/judge.h"

namespace reprise::gate {

struct Look {
  Samples samples;
  bool loaded = false;  // other work ran meanwhile: the samples count for nothing
};

struct Decision {
  bool judged = false;  // false: other work ran during every look
  Judgement judgement;  // of the last look that counted, if any
  int looks = 0;
};

// Looks at a gate until it is decided. It holds, or is told where it has no bound, after one look on a quiet machine;
// it falls after two, for of many gates one looks fallen now and then (a chance of kSignificance each). Looks beside
// other work do not count, and after `most_looks` of any kind the gate is given up. Errors are those of `look`.
absl::StatusOr<Decision> Decide(const std::optional<Bound>& bound, int most_looks,
                                const std::function<absl::StatusOr<Look>()>& look);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_DECIDE_H_
