#ifndef BENCHMARKS_GATE_MEASURED_VALUE_H_
#define BENCHMARKS_GATE_MEASURED_VALUE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "benchmarks/gate/command.h"

namespace reprise::gate {

// The number called `value` that an execution gave: "seconds" is the time it took; every other name is a member of the
// one benchmark in Google Benchmark's JSON (--benchmark_format=json), or of the JSON object on its last line.
// FailedPrecondition when it is not there, or not a positive number, or when the filter left several benchmarks.
absl::StatusOr<double> MeasuredValue(const Execution& execution, absl::string_view value);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_MEASURED_VALUE_H_
