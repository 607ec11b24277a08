#include "benchmarks/gate/gates_file.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "benchmarks/gate/command.h"
#include "core/config/field_list.h"
#include "core/config/resolve.h"
#include "core/config/toml_reader.h"
#include "core/config/unknown_name.h"
#include "core/status/status_macros.h"

namespace reprise::gate {
namespace {

void Visit(config::FieldList& list, Gate& gate) {
  list.Section(gate.name, config::Kind::kExecution, "A bound on the ratio of two measured numbers.");
  list.String("claim", gate.claim, "The property that holds while the gate holds, in one sentence.");
  list.String("prepare", gate.prepare, "A command that is executed once before the measurements.");
  list.String("numerator", gate.numerator, "The command that is measured.");
  list.String("numerator_value", gate.numerator_value, "`seconds` (its wall time), or a number's name in its output.");
  list.String("denominator", gate.denominator, "Another command, `same run`, or `baseline`.");
  list.String("denominator_value", gate.denominator_value, "The other number; the numerator's if this is missing.");
  list.Double("at_least", gate.at_least, {.low = 0, .without_low = true}, "The smallest ratio that holds.");
  list.Double("at_most", gate.at_most, {.low = 0, .without_low = true}, "The largest ratio that holds.");
  list.Double("at_least_avx2", gate.at_least_avx2, {.low = 0},
              "The smallest ratio on machines without AVX-512; 0 = at_least.");
  list.Double("at_most_avx2", gate.at_most_avx2, {.low = 0}, "The largest ratio without AVX-512; 0 = at_most.");
  list.Bool("judged", gate.judged, "If false, the gate is measured and reported, has no bound, and cannot fail.");
  list.Int("repetitions", gate.repetitions, config::Between(kFewestRepetitions, 50), "Measurements of each side.");
  list.Int("processors", gate.processors, config::AtLeast(1), "The gate is skipped on machines with fewer processors.");
}

// Cross-field validation: returns the fault of a gate whose keys are all of the right type, or an empty string.
std::string Fault(const Gate& gate) {
  if (gate.claim.empty()) return "claim is empty; it states the property that the gate checks";
  if (gate.numerator.empty() || gate.numerator_value.empty()) return "numerator and numerator_value must both be set";
  if (gate.denominator.empty()) return "denominator must be another command, \"same run\" or \"baseline\"";
  const bool from_below = gate.at_least > 0, from_above = gate.at_most > 0;
  if (!gate.judged && (from_below || from_above)) return "judged is false, so at_least and at_most must not be set";
  if (gate.judged && from_below == from_above) return "exactly one of at_least and at_most must be set";
  if ((gate.at_least_avx2 > 0 && !from_below) || (gate.at_most_avx2 > 0 && !from_above)) {
    return "at_least_avx2 requires at_least, and at_most_avx2 requires at_most";
  }
  if (gate.same_run() && gate.value_below() == gate.numerator_value) {
    return "denominator_value must be another number of the same run";
  }
  if (gate.against_baseline() && gate.value_below() != gate.numerator_value) {
    return "against the baseline, denominator_value must equal numerator_value";
  }
  return "";
}

}  // namespace

std::optional<Bound> Gate::bound() const {
  if (!judged) return std::nullopt;
  return Bound{at_least > 0, at_least > 0 ? at_least : at_most};
}

std::vector<Gate> BoundsFor(kernels::Isa isa, std::vector<Gate> gates) {
  if (isa != kernels::Isa::kAvx2) return gates;
  for (Gate& gate : gates) {
    if (gate.at_least_avx2 > 0) gate.at_least = gate.at_least_avx2;
    if (gate.at_most_avx2 > 0) gate.at_most = gate.at_most_avx2;
  }
  return gates;
}

absl::StatusOr<std::vector<Gate>> ReadGates(absl::string_view text, absl::string_view file_name) {
  ASSIGN_OR_RETURN(const std::vector<config::TomlEntry> entries, config::ReadToml(text, file_name));
  std::vector<Gate> gates;
  for (const config::TomlEntry& entry : entries) {
    if (entry.what == config::TomlEntry::What::kSection) gates.push_back({.name = entry.section});
  }
  config::FieldList fields;
  for (Gate& gate : gates) Visit(fields, gate);
  config::Origins origins;
  RETURN_IF_ERROR(config::ApplyFile(text, file_name, fields, origins));
  for (const Gate& gate : gates) {
    const std::string fault = Fault(gate);
    if (!fault.empty()) return absl::InvalidArgumentError(absl::StrCat(file_name, ": ", gate.name, ": ", fault));
  }
  return gates;
}

absl::StatusOr<std::vector<Gate>> ChooseGates(const std::vector<Gate>& gates, const std::vector<std::string>& names) {
  if (names.empty()) return gates;
  std::vector<absl::string_view> known;
  for (const Gate& gate : gates) known.push_back(gate.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) return UnknownName("gate", name, known);
  }
  std::vector<Gate> chosen;
  for (const Gate& gate : gates) {
    if (std::find(names.begin(), names.end(), gate.name) != names.end()) chosen.push_back(gate);
  }
  return chosen;
}

std::vector<std::string> LabelsOf(const std::vector<Gate>& gates) {
  std::set<std::string> labels;
  for (const Gate& gate : gates) {
    for (const std::string& command : {gate.prepare, gate.numerator, gate.denominator}) {
      for (std::string& label : LabelsOf(command)) labels.insert(std::move(label));
    }
  }
  return {labels.begin(), labels.end()};
}

}  // namespace reprise::gate
