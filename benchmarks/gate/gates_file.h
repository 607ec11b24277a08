#ifndef BENCHMARKS_GATE_GATES_FILE_H_
#define BENCHMARKS_GATE_GATES_FILE_H_

// benchmarks/gates.toml: one section for each gate, each a bound on the ratio of two measured numbers.

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
  std::string prepare = "";            // a command that is executed once before; may be empty
  std::string numerator = "";          // a command (command.h), executed in the root of a checkout
  std::string numerator_value = "";    // what it measures (measured_value.h)
  std::string denominator = "";        // another command, kSameRun, or kBaseline: the same command in another checkout
  std::string denominator_value = "";  // empty: the numerator's
  double at_least = 0;                 // one of these two is given, unless the gate is not judged
  double at_most = 0;
  double at_least_avx2 = 0;  // the bound where the kernels have AVX2 and no more; 0: that above
  double at_most_avx2 = 0;
  bool judged = true;       // else measured and told, with no bound
  int64_t repetitions = 7;  // of each side, not counting one to warm up
  int64_t processors = 1;   // a machine with fewer cannot be asked

  bool against_baseline() const { return denominator == kBaseline; }
  bool same_run() const { return denominator == kSameRun; }
  const std::string& value_below() const { return denominator_value.empty() ? numerator_value : denominator_value; }
  // None for a gate that is not judged.
  std::optional<Bound> bound() const;
};

// In the order of the file. InvalidArgument with file, line and column for what the configuration reader refuses, and
// "<file>: <gate>: ..." for a gate that says too little or contradicts itself.
absl::StatusOr<std::vector<Gate>> ReadGates(absl::string_view text, absl::string_view file_name);

// The same gates with the bounds that they have on an instruction set, in at_least and at_most.
std::vector<Gate> BoundsFor(kernels::Isa isa, std::vector<Gate> gates);

// The gates that have these names, or all when none is named; InvalidArgument with the nearest name for an unknown one.
absl::StatusOr<std::vector<Gate>> ChooseGates(const std::vector<Gate>& gates, const std::vector<std::string>& names);

// The Bazel labels of all programs that the gates execute: sorted, each once.
std::vector<std::string> LabelsOf(const std::vector<Gate>& gates);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_GATES_FILE_H_
