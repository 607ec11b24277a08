#include "benchmarks/gate/measured_value.h"

#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/json/json.h"
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

}  // namespace reprise::gate
