#include "benchmarks/gate/report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/status/conditions.h"

namespace reprise::gate {
namespace {

std::string Word(const Decision& decision) {
  if (!decision.judged) return "not judged";
  switch (decision.judgement.outcome) {
    case Outcome::kHeld:
      return "held";
    case Outcome::kUncertain:
      return "uncertain";
    case Outcome::kFell:
      return "fell";
  }
  return "";
}

std::vector<std::string> Named(const std::vector<Decided>& all, const std::string& word) {
  std::vector<std::string> names;
  for (const Decided& decided : all) {
    if (Word(decided.decision) == word) names.push_back(decided.gate.name);
  }
  return names;
}

}  // namespace

std::string DecisionLine(const Decided& decided) {
  const Decision& decision = decided.decision;
  const Bound bound = decided.gate.bound();
  const std::string limit = absl::StrFormat("%s %.4g", bound.at_least ? ">=" : "<=", bound.ratio);
  const std::string start = absl::StrFormat("%-10s  %-24s ", Word(decision), decided.gate.name);
  if (!decision.judged) return absl::StrCat(start, limit, "  (other work ran meanwhile)");
  return absl::StrFormat("%s%.4g, expected %s  (by chance: %.2g; %d pairs)", start, decision.judgement.ratio, limit,
                         decision.judgement.chance, decided.gate.repetitions);
}

nlohmann::ordered_json DecisionJson(const Decided& decided) {
  const Decision& decision = decided.decision;
  const Bound bound = decided.gate.bound();
  nlohmann::ordered_json line = {{"event", "gate"},
                                 {"name", decided.gate.name},
                                 {"claim", decided.gate.claim},
                                 {"outcome", Word(decision)},
                                 {"ratio", nullptr},
                                 {"chance", nullptr},
                                 {bound.at_least ? "at_least" : "at_most", bound.ratio},
                                 {"repetitions", decided.gate.repetitions},
                                 {"looks", decision.looks}};
  if (decision.judged) {
    line["ratio"] = decision.judgement.ratio;
    line["chance"] = decision.judgement.chance;
  }
  return line;
}

std::string VerdictLine(const std::vector<Decided>& all) {
  const std::vector<std::string> fell = Named(all, "fell"), open = Named(all, "not judged");
  if (!fell.empty()) {
    return absl::StrCat("FAIL: ", fell.size(), " of ", all.size(), " gates fell: ", absl::StrJoin(fell, ", "));
  }
  if (!open.empty()) {
    return absl::StrCat("NOT JUDGED: other work ran beside ", open.size(), " of ", all.size(),
                        " gates: ", absl::StrJoin(open, ", "));
  }
  return absl::StrCat("PASS: ", all.size(), all.size() == 1 ? " gate held" : " gates held");
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
