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
  list.String("claim", gate.claim, "What holds while the gate does, in one sentence.");
  list.String("prepare", gate.prepare, "A command that is executed once before.");
  list.String("numerator", gate.numerator, "The command that is measured.");
  list.String("numerator_value", gate.numerator_value,
              "`seconds` that it took, or the name of a number that it tells.");
  list.String("denominator", gate.denominator, "Another command, `same run`, or `baseline`.");
  list.String("denominator_value", gate.denominator_value, "The other number; the numerator's if it is left out.");
  list.Double("at_least", gate.at_least, {.low = 0, .without_low = true}, "The smallest ratio that holds.");
  list.Double("at_most", gate.at_most, {.low = 0, .without_low = true}, "The largest ratio that holds.");
  list.Double("at_least_avx2", gate.at_least_avx2, {.low = 0},
              "The same where there is no AVX-512; 0 = the same bound.");
  list.Double("at_most_avx2", gate.at_most_avx2, {.low = 0}, "The same where there is no AVX-512; 0 = the same bound.");
  list.Bool("judged", gate.judged, "Without this it is measured and told, has no bound, and fails nothing.");
  list.Int("repetitions", gate.repetitions, config::Between(kFewestRepetitions, 50), "Measurements of each side.");
  list.Int("processors", gate.processors, config::AtLeast(1), "A machine with fewer is not asked.");
}

// What is wrong with a gate whose keys are all of the right type; empty for nothing.
std::string Fault(const Gate& gate) {
  if (gate.claim.empty()) return "it makes no claim";
  if (gate.numerator.empty() || gate.numerator_value.empty())
    return "numerator and numerator_value say what is measured";
  if (gate.denominator.empty()) return "denominator is another command, \"same run\" or \"baseline\"";
  const bool from_below = gate.at_least > 0, from_above = gate.at_most > 0;
  if (!gate.judged && (from_below || from_above)) return "it is not judged, so it has no bound";
  if (gate.judged && from_below == from_above) return "one of at_least and at_most is its bound";
  if ((gate.at_least_avx2 > 0 && !from_below) || (gate.at_most_avx2 > 0 && !from_above)) {
    return "at_least_avx2 goes with at_least, at_most_avx2 with at_most";
  }
  if (gate.same_run() && gate.value_below() == gate.numerator_value) {
    return "denominator_value is another number of the same run";
  }
  if (gate.against_baseline() && gate.value_below() != gate.numerator_value) {
    return "against the baseline both values are the same";
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
