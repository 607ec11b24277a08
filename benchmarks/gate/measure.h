#ifndef BENCHMARKS_GATE_MEASURE_H_
#define BENCHMARKS_GATE_MEASURE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "benchmarks/gate/command.h"
#include "benchmarks/gate/gates_file.h"
#include "benchmarks/gate/judge.h"

namespace reprise::gate {

enum class Checkout { kThis, kBaseline };
using Runner = std::function<absl::StatusOr<Execution>(const std::string& command, Checkout checkout)>;

// Executes both sides of a gate alternately, gate.repetitions times each, after one pair that does not count. Every
// second pair is in the opposite order, so that a drifting clock or a warm cache favours neither side. Errors are those
// of `run` and of MeasuredValue, with the gate's name in front.
absl::StatusOr<Samples> Measure(const Gate& gate, const Runner& run);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_MEASURE_H_
