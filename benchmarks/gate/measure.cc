#include "benchmarks/gate/measure.h"

#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/json/json.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise::gate {
namespace {

absl::string_view LastLine(absl::string_view text) {
  text = absl::StripTrailingAsciiWhitespace(text);
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

absl::StatusOr<double> Positive(const JsonValue& object, absl::string_view name) {
  const std::optional<JsonValue> value = object.Find(name);
  if (!value) return absl::FailedPreconditionError(absl::StrCat("its output has no \"", name, "\""));
  const absl::StatusOr<double> number = value->Number();
  if (number.ok() && std::isfinite(*number) && *number > 0) return *number;
  return absl::FailedPreconditionError(absl::StrCat("\"", name, "\" of its output is not a positive number"));
}

absl::StatusOr<double> OfBenchmarks(const JsonValue& benchmarks, absl::string_view name) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, benchmarks.Elements());
  if (elements.size() == 1) return Positive(elements[0], name);
  return absl::FailedPreconditionError(absl::StrCat("it ran ", elements.size(), " benchmarks, but a gate needs one"));
}

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

absl::StatusOr<double> MeasuredValue(const Execution& execution, absl::string_view value) {
  if (value == "seconds") return execution.seconds;
  if (const auto whole = JsonDocument::Parse(execution.out); whole.ok()) {
    const std::optional<JsonValue> benchmarks = whole->root().Find("benchmarks");
    return benchmarks ? OfBenchmarks(*benchmarks, value) : Positive(whole->root(), value);
  }
  const auto line = JsonDocument::Parse(LastLine(execution.out));
  if (!line.ok()) return absl::FailedPreconditionError("the last line of its output is not JSON");
  return Positive(line->root(), value);
}

absl::StatusOr<Samples> Measure(const Gate& gate, const Runner& run) {
  absl::StatusOr<Samples> samples = MeasureAll(gate, run);
  if (!samples.ok()) return WithContext(samples.status(), gate.name);
  return samples;
}

}  // namespace reprise::gate
