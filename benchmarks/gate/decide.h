#ifndef BENCHMARKS_GATE_DECIDE_H_
#define BENCHMARKS_GATE_DECIDE_H_

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "benchmarks/gate/judge.h"

namespace reprise::gate {

struct Look {
  Samples samples;
  bool loaded = false;  // other processes used the machine meanwhile, so the samples do not count
};

struct Decision {
  bool judged = false;  // false: too few looks counted, because other processes used the machine
  Judgement judgement;  // of the last look that counted, if any
  int looks = 0;
};

// Repeats `look`, which measures a gate once, until the gate is decided. One look on an idle machine decides that it
// holds, or reports its ratio if it has no bound. It fails only after two looks that appear failed, because each may do
// so by chance (with probability kSignificance). Looks while other processes use the machine do not count. After
// `most_looks` looks without a decision, the gate is not judged. Errors are those of `look`.
absl::StatusOr<Decision> Decide(const std::optional<Bound>& bound, int most_looks,
                                const std::function<absl::StatusOr<Look>()>& look);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_DECIDE_H_
