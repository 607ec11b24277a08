#ifndef BENCHMARKS_GATE_MEASURE_H_
#define BENCHMARKS_GATE_MEASURE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "benchmarks/gate/command.h"
#include "benchmarks/gate/gates_file.h"
#include "benchmarks/gate/judge.h"

namespace reprise::gate {

// Returns the number called `value` of an execution: "seconds" is its wall time; every other name is a member of the
// only benchmark in Google Benchmark's JSON (--benchmark_format=json), or of the JSON object on its last line.
// FailedPrecondition if it is missing or not a positive number, or if there are several benchmarks or none.
absl::StatusOr<double> MeasuredValue(const Execution& execution, absl::string_view value);

enum class Checkout { kThis, kBaseline };
using Runner = std::function<absl::StatusOr<Execution>(const std::string& command, Checkout checkout)>;

// Executes both sides of a gate alternately, gate.repetitions times each, after one pair that does not count. Every
// second pair is in the opposite order, so that a drifting clock or a warm cache favours neither side. Errors are those
// of `run` and of MeasuredValue, with the gate's name in front.
absl::StatusOr<Samples> Measure(const Gate& gate, const Runner& run);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_MEASURE_H_
