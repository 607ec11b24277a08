#ifndef BENCHMARKS_GATE_GATES_FILE_H_
#define BENCHMARKS_GATE_GATES_FILE_H_

// Reads benchmarks/gates.toml, which has a section for each gate: a bound on the ratio of two measured numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "benchmarks/gate/judge.h"
#include "kernels/isa/isa.h"

namespace reprise::gate {

inline constexpr char kSameRun[] = "same run";
inline constexpr char kBaseline[] = "baseline";

struct Gate {
  std::string name = "";
  std::string claim = "";              // one sentence
  std::string prepare = "";            // a command that is executed once before the measurements; may be empty
  std::string numerator = "";          // a command (command.h), executed in the root of a checkout
  std::string numerator_value = "";    // the measured number (measured_value.h)
  std::string denominator = "";        // another command, kSameRun, or kBaseline: the same command in another checkout
  std::string denominator_value = "";  // empty: the numerator's
  double at_least = 0;                 // one of these two is given, unless the gate is not judged
  double at_most = 0;
  double at_least_avx2 = 0;  // the bound where the kernels have only AVX2; 0: the same bound
  double at_most_avx2 = 0;
  bool judged = true;       // false: measured and reported, without a bound
  int64_t repetitions = 7;  // of each side, not counting one to warm up
  int64_t processors = 1;   // the gate is skipped on machines with fewer

  bool against_baseline() const { return denominator == kBaseline; }
  bool same_run() const { return denominator == kSameRun; }
  const std::string& value_below() const { return denominator_value.empty() ? numerator_value : denominator_value; }
  // Returns the bound; none for a gate that is not judged.
  std::optional<Bound> bound() const;
};

// Returns the gates in the order of the file. Errors: InvalidArgument with file, line and column for an invalid key or
// value, and "<file>: <gate>: ..." for a gate with missing or contradictory keys.
absl::StatusOr<std::vector<Gate>> ReadGates(absl::string_view text, absl::string_view file_name);

// Returns the gates with their bounds for an instruction set in at_least and at_most.
std::vector<Gate> BoundsFor(kernels::Isa isa, std::vector<Gate> gates);

// Returns the gates that have these names, or all if none is named; InvalidArgument with the nearest name for an
// unknown one.
absl::StatusOr<std::vector<Gate>> ChooseGates(const std::vector<Gate>& gates, const std::vector<std::string>& names);

// Returns the Bazel labels of all programs that the gates execute, sorted and without duplicates.
std::vector<std::string> LabelsOf(const std::vector<Gate>& gates);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_GATES_FILE_H_
