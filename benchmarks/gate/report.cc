#include "benchmarks/gate/report.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/status/conditions.h"
#include "nlohmann/json.hpp"

namespace reprise::gate {
namespace {

std::string Word(const Decided& decided) {
  if (!decided.decision.judged) return decided.gate.judged ? "not judged" : "unmeasured";
  switch (decided.decision.judgement.outcome) {
    case Outcome::kHeld:
      return "held";
    case Outcome::kUncertain:
      return "uncertain";
    case Outcome::kFell:
      return "fell";
    case Outcome::kReported:
      return "reported";
  }
  return "";
}

std::vector<std::string> Named(const std::vector<Decided>& all, const std::string& word) {
  std::vector<std::string> names;
  for (const Decided& decided : all) {
    if (Word(decided) == word) names.push_back(decided.gate.name);
  }
  return names;
}

// Returns the number of gates that have a bound.
size_t Judged(const std::vector<Decided>& all) {
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const Decided& one) { return one.gate.judged; }));
}

}  // namespace

std::string DecisionLine(const Decided& decided) {
  const Decision& decision = decided.decision;
  const std::optional<Bound> bound = decided.gate.bound();
  const std::string start = absl::StrFormat("%-10s  %-24s ", Word(decided), decided.gate.name);
  if (!bound) {
    const int64_t pairs = decided.gate.repetitions;
    return decision.judged ? absl::StrFormat("%s%.4g  (no bound; %d pairs)", start, decision.judgement.ratio, pairs)
                           : absl::StrCat(start, "(other processes used the machine)");
  }
  const std::string limit = absl::StrFormat("%s %.4g", bound->at_least ? ">=" : "<=", bound->ratio);
  if (!decision.judged) return absl::StrCat(start, limit, "  (other processes used the machine)");
  return absl::StrFormat("%s%.4g, expected %s  (by chance: %.2g; %d pairs)", start, decision.judgement.ratio, limit,
                         decision.judgement.chance, decided.gate.repetitions);
}

nlohmann::ordered_json DecisionJson(const Decided& decided) {
  const Decision& decision = decided.decision;
  const std::optional<Bound> bound = decided.gate.bound();
  nlohmann::ordered_json line = {{"event", "gate"},          {"name", decided.gate.name}, {"claim", decided.gate.claim},
                                 {"outcome", Word(decided)}, {"ratio", nullptr},          {"chance", nullptr}};
  if (decision.judged) line["ratio"] = decision.judgement.ratio;
  if (decision.judged && bound) line["chance"] = decision.judgement.chance;
  if (bound) line[bound->at_least ? "at_least" : "at_most"] = bound->ratio;
  line["repetitions"] = decided.gate.repetitions;
  line["looks"] = decision.looks;
  return line;
}

std::string VerdictLine(const std::vector<Decided>& all) {
  const std::vector<std::string> fell = Named(all, "fell"), open = Named(all, "not judged");
  if (!fell.empty()) {
    return absl::StrCat("FAIL: ", fell.size(), " of ", Judged(all), " gates failed: ", absl::StrJoin(fell, ", "));
  }
  if (!open.empty()) {
    return absl::StrCat("NOT JUDGED: other processes used the machine during ", open.size(), " of ", Judged(all),
                        " gates: ", absl::StrJoin(open, ", "));
  }
  return absl::StrCat("PASS: ", Judged(all), Judged(all) == 1 ? " gate held" : " gates held");
}

nlohmann::ordered_json VerdictJson(const std::vector<Decided>& all) {
  const int code = ExitCodeOf(all);
  nlohmann::ordered_json line = {{"event", "verdict"}, {"pass", code == kExitOk}};
  line["fell"] = Named(all, "fell");
  line["uncertain"] = Named(all, "uncertain");
  line["not_judged"] = Named(all, "not judged");
  return line;
}

int ExitCodeOf(const std::vector<Decided>& all) {
  if (!Named(all, "fell").empty()) return kExitDiffers;
  return Named(all, "not judged").empty() ? kExitOk : kExitRetry;
}

}  // namespace reprise::gate
