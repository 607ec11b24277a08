#ifndef BENCHMARKS_GATE_MEASURED_VALUE_H_
#define BENCHMARKS_GATE_MEASURED_VALUE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "benchmarks/gate/command.h"

namespace reprise::gate {

// Returns the number called `value` of an execution: "seconds" is its wall time; every other name is a member of the
// only benchmark in Google Benchmark's JSON (--benchmark_format=json), or of the JSON object on its last line.
// FailedPrecondition if it is missing or not a positive number, or if there are several benchmarks or none.
absl::StatusOr<double> MeasuredValue(const Execution& execution, absl::string_view value);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_MEASURED_VALUE_H_
