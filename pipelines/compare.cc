// compare: reports the first difference between two runs, or that they are identical.

#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/program.h"
#include "pipelines/stored/phase_name.h"
#include "pipelines/stored/run_comparison.h"
#include "pipelines/stored/stored_run.h"
#include "pipelines/training/reduction.h"

namespace reprise {
namespace {

// Returns the value of a file's digest or of a key; a run stores the keys that it reads.
std::string ValueText(const std::string& name, const std::string& value) {
  if (!value.empty()) return Printable(value);
  return absl::StrContains(name, '/') ? "(none)" : "(not read)";
}

// "step 20", "SFT step 3"; step 0 is the end of a phase without steps.
std::string EndText(rl::Phase phase, int64_t step) {
  return absl::StrCat(phase == rl::Phase::kSft ? "SFT " : "", "step ", step);
}

std::string FormatComparison(const RunComparison& found) {
  std::string text;
  for (const HeaderDifference& difference : found.header) {
    absl::StrAppend(&text, "differs: ", Printable(difference.name), ": A ", ValueText(difference.name, difference.a),
                    ", B ", ValueText(difference.name, difference.b), "\n");
  }
  const std::string agree = absl::StrCat(found.steps_compared, " steps agree bit for bit");
  if (found.divergence) {
    const rl::Divergence& d = *found.divergence;
    return absl::StrCat(text, "first divergence: ", EndText(d.phase, d.step), ", ", d.stage, ", ", Printable(d.tensor),
                        ": A ", Printable(d.expected), ", B ", Printable(d.actual), "\n");
  }
  if (found.end) {
    const bool a_first = found.end->a < found.end->b;
    return absl::StrCat(text, agree, "; ", a_first ? "A" : "B", " ends at ",
                        EndText(found.end->phase, std::min(found.end->a, found.end->b)), ", ", a_first ? "B" : "A",
                        " at ", EndText(found.end->phase, std::max(found.end->a, found.end->b)), "\n");
  }
  if (found.contents) return absl::StrCat(text, agree, "; ", Printable(*found.contents), "\n");
  return absl::StrCat(text, found.identical() ? "identical" : agree, "\n");
}

void PrintJson(const RunComparison& found) {
  nlohmann::ordered_json verdict;
  verdict["event"] = "verdict";
  verdict["identical"] = found.identical();
  verdict["steps_compared"] = found.steps_compared;
  verdict["differences"] = nlohmann::json::array();
  for (const HeaderDifference& difference : found.header) {
    verdict["differences"].push_back({{"name", difference.name}, {"a", difference.a}, {"b", difference.b}});
  }
  verdict["first_divergence"] = nullptr;
  if (found.divergence) {
    const rl::Divergence& d = *found.divergence;
    verdict["first_divergence"] = {{"phase", PhaseName(d.phase)}, {"step", d.step},  {"stage", d.stage},
                                   {"tensor", d.tensor},          {"a", d.expected}, {"b", d.actual}};
  }
  verdict["end"] = nullptr;
  if (found.end) verdict["end"] = {{"phase", PhaseName(found.end->phase)}, {"a", found.end->a}, {"b", found.end->b}};
  verdict["contents"] = nullptr;
  if (found.contents) verdict["contents"] = *found.contents;
  PrintJsonLine(verdict);
}

absl::StatusOr<int> Compare(const std::string& a_path, const std::string& b_path, bool json, Logger& logger) {
  ASSIGN_OR_RETURN(const StoredRun a, OpenStoredRun(a_path));
  ASSIGN_OR_RETURN(const StoredRun b, OpenStoredRun(b_path));
  if (IsFast(a.config.run)) logger.Warning(absl::StrCat("A was ", ReductionNote(a.config.run)));
  if (IsFast(b.config.run)) logger.Warning(absl::StrCat("B was ", ReductionNote(b.config.run)));
  ASSIGN_OR_RETURN(const RunComparison found, CompareRuns(a, b));
  if (json) {
    PrintJson(found);
  } else {
    PrintText(FormatComparison(found));
  }
  return found.identical() ? kExitOk : kExitDiffers;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::PrepareProcess();
  reprise::CommandLine command_line(
      "compare",
      "Reports where two runs differ: every setting that differs, then the first step, stage and tensor with both "
      "values. "
      "Prints `identical` when nothing differs.",
      "./reprise compare runs/first/run.h5 runs/second/run.h5");
  std::string a, b;
  command_line.Add("A", a, "A run.h5", {.is_required = true});
  command_line.Add("B", b, "Another", {.is_required = true});
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  return reprise::RunOnOneRank(
      command_line, [&](reprise::Logger& logger) { return reprise::Compare(a, b, command_line.flags().json, logger); });
}
