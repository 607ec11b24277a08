#ifndef BENCHMARKS_GATE_REPORT_H_
#define BENCHMARKS_GATE_REPORT_H_

// The texts and JSON of decisions. Pure.

#include <string>
#include <vector>

#include "benchmarks/gate/decide.h"
#include "benchmarks/gate/gates_file.h"
#include "nlohmann/json_fwd.hpp"

namespace reprise::gate {

struct Decided {
  Gate gate;
  Decision decision;
};

// Returns "held        experts_peak             0.71, expected >= 0.5  (by chance: 0.9; 7 pairs)". The first word is
// "reported" for a gate without a bound.
std::string DecisionLine(const Decided& decided);
nlohmann::ordered_json DecisionJson(const Decided& decided);

// Returns "PASS: 7 gates held", "FAIL: 1 of 7 gates failed: experts_peak", or "NOT JUDGED: other processes used the
// machine during 2 of 7 gates: ...".
std::string VerdictLine(const std::vector<Decided>& all);
nlohmann::ordered_json VerdictJson(const std::vector<Decided>& all);

// Returns kExitDiffers if a gate failed, else kExitRetry if one could not be judged, else kExitOk.
int ExitCodeOf(const std::vector<Decided>& all);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_REPORT_H_
