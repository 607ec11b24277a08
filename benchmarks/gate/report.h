#ifndef BENCHMARKS_GATE_REPORT_H_
#define BENCHMARKS_GATE_REPORT_H_

// How a decision is told. Pure.

#include <string>
#include <vector>

#include "benchmarks/gate/decide.h"
#include "benchmarks/gate/gates_file.h"
#include "nlohmann/json.hpp"

namespace reprise::gate {

struct Decided {
  Gate gate;
  Decision decision;
};

// "held       experts_peak                0.71 >= 0.5   (chance 0.9, 7 pairs)"; of a gate that is not judged "told".
std::string DecisionLine(const Decided& decided);
nlohmann::ordered_json DecisionJson(const Decided& decided);

// "PASS: 7 gates held", "FAIL: 1 of 7 gates fell: experts_peak", "NOT JUDGED: other work ran beside 2 of 7 gates: ...".
std::string VerdictLine(const std::vector<Decided>& all);
nlohmann::ordered_json VerdictJson(const std::vector<Decided>& all);

// kExitDiffers if a gate fell, else kExitRetry if one could not be judged, else kExitOk.
int ExitCodeOf(const std::vector<Decided>& all);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_REPORT_H_
