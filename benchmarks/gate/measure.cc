#include "benchmarks/gate/measure.h"

#include "benchmarks/gate/measured_value.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise::gate {
namespace {

// Measures both numbers in one execution.
absl::Status MeasureTogether(const Gate& gate, const Runner& run, Samples* samples) {
  ASSIGN_OR_RETURN(const Execution execution, run(gate.numerator, Checkout::kThis));
  ASSIGN_OR_RETURN(const double above, MeasuredValue(execution, gate.numerator_value));
  ASSIGN_OR_RETURN(const double below, MeasuredValue(execution, gate.value_below()));
  samples->numerator.push_back(above);
  samples->denominator.push_back(below);
  return absl::OkStatus();
}

absl::Status MeasureAbove(const Gate& gate, const Runner& run, Samples* samples) {
  ASSIGN_OR_RETURN(const Execution execution, run(gate.numerator, Checkout::kThis));
  ASSIGN_OR_RETURN(const double value, MeasuredValue(execution, gate.numerator_value));
  samples->numerator.push_back(value);
  return absl::OkStatus();
}

absl::Status MeasureBelow(const Gate& gate, const Runner& run, Samples* samples) {
  const bool baseline = gate.against_baseline();
  ASSIGN_OR_RETURN(const Execution execution,
                   run(baseline ? gate.numerator : gate.denominator, baseline ? Checkout::kBaseline : Checkout::kThis));
  ASSIGN_OR_RETURN(const double value, MeasuredValue(execution, gate.value_below()));
  samples->denominator.push_back(value);
  return absl::OkStatus();
}

absl::Status MeasurePair(const Gate& gate, const Runner& run, bool swapped, Samples* samples) {
  if (gate.same_run()) return MeasureTogether(gate, run, samples);
  if (swapped) RETURN_IF_ERROR(MeasureBelow(gate, run, samples));
  RETURN_IF_ERROR(MeasureAbove(gate, run, samples));
  return swapped ? absl::OkStatus() : MeasureBelow(gate, run, samples);
}

absl::StatusOr<Samples> MeasureAll(const Gate& gate, const Runner& run) {
  Samples warm_up, samples;
  RETURN_IF_ERROR(MeasurePair(gate, run, false, &warm_up));
  for (int64_t i = 0; i < gate.repetitions; ++i) RETURN_IF_ERROR(MeasurePair(gate, run, i % 2 == 1, &samples));
  return samples;
}

}  // namespace

absl::StatusOr<Samples> Measure(const Gate& gate, const Runner& run) {
  absl::StatusOr<Samples> samples = MeasureAll(gate, run);
  if (!samples.ok()) return WithContext(samples.status(), gate.name);
  return samples;
}

}  // namespace reprise::gate
