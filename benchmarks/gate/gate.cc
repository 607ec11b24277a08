// gate: measures the gates of benchmarks/gates.toml on this machine and judges them by their bounds.

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/gate/command.h"
#include "benchmarks/gate/decide.h"
#include "benchmarks/gate/gates_file.h"
#include "benchmarks/gate/load_watch.h"
#include "benchmarks/gate/measure.h"
#include "benchmarks/gate/report.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/machine/processors.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "kernels/isa/isa.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/program.h"

namespace reprise::gate {
namespace {

constexpr int kMostLooks = 3;
constexpr double kMostSecondsOfACommand = 60;
constexpr int64_t kMostBytesOfFile = int64_t{1} << 20;

struct GateFlags {
  std::vector<std::string> names;
  std::string file = "benchmarks/gates.toml";
  std::string root = ".";
  std::string against, baseline;
  std::string proc = "/proc";
  double patience_seconds = 10;
  bool programs = false;
};

absl::StatusOr<std::vector<Gate>> GatesOf(const GateFlags& flags) {
  const std::string path = flags.file.front() == '/' ? flags.file : absl::StrCat(flags.root, "/", flags.file);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), path, kMostBytesOfFile));
  ASSIGN_OR_RETURN(const std::vector<Gate> all, ReadGates(text, flags.file));
  ASSIGN_OR_RETURN(const std::vector<Gate> named, ChooseGates(BoundsFor(kernels::ActiveIsa(), all), flags.names));
  std::vector<Gate> chosen;
  for (const Gate& gate : named) {
    if (gate.against_baseline() == !flags.against.empty()) chosen.push_back(gate);
  }
  if (!chosen.empty()) return chosen;
  return absl::InvalidArgumentError(flags.against.empty()
                                        ? "no gate to judge; those against the baseline need --against"
                                        : "no gate to judge against another commit");
}

Runner RunnerOf(const GateFlags& flags, const std::string& prepared) {
  return [&flags, prepared](const std::string& command, Checkout checkout) -> absl::StatusOr<Execution> {
    ASSIGN_OR_RETURN(const ScratchDirectory scratch, ScratchDirectory::Create());
    return Execute(CommandWords(command, scratch.path(), prepared),
                   checkout == Checkout::kBaseline ? flags.baseline : flags.root, kMostSecondsOfACommand);
  };
}

// Measures the gate once. The result does not count if other processes use the machine before or during it.
absl::StatusOr<Look> LookAt(const Gate& gate, const GateFlags& flags, const Runner& run, Logger& logger) {
  const absl::Status quiet = WaitForQuiet(flags.proc, flags.patience_seconds);
  if (!quiet.ok() && !absl::IsUnavailable(quiet)) return quiet;
  Look look = {.samples = {}, .loaded = true};
  if (quiet.ok()) {
    ASSIGN_OR_RETURN(const LoadWatch watch, LoadWatch::Start(flags.proc));
    ASSIGN_OR_RETURN(look.samples, Measure(gate, run));
    ASSIGN_OR_RETURN(const double others, watch.OtherCores());
    look.loaded = others > MostOtherCores(watch.processors());
  }
  if (look.loaded) logger.Info(absl::StrCat(gate.name, ": other processes use the machine; this look does not count"));
  return look;
}

absl::StatusOr<Decided> DecideGate(const Gate& gate, const GateFlags& flags, Logger& logger) {
  logger.Info(absl::StrCat(gate.name, ": ", gate.claim));
  ASSIGN_OR_RETURN(const ScratchDirectory prepared, ScratchDirectory::Create());
  const Runner run = RunnerOf(flags, prepared.path());
  if (!gate.prepare.empty()) RETURN_IF_ERROR(WithContext(run(gate.prepare, Checkout::kThis).status(), gate.name));
  ASSIGN_OR_RETURN(const Decision decision,
                   Decide(gate.bound(), kMostLooks, [&] { return LookAt(gate, flags, run, logger); }));
  return Decided{gate, decision};
}

// Limits LibTorch to the instruction set of the kernels.
void LimitLibTorch() {
  if (kernels::ActiveIsa() != kernels::Isa::kAvx2) return;
  setenv("ATEN_CPU_CAPABILITY", "avx2", /*overwrite=*/0);
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", /*overwrite=*/0);
  setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2", /*overwrite=*/0);
}

absl::StatusOr<int> JudgeGates(const std::vector<Gate>& gates, const GateFlags& flags, bool json, Logger& logger) {
  RETURN_IF_ERROR(WaitForQuiet(flags.proc, flags.patience_seconds));
  LimitLibTorch();
  logger.Info(absl::StrCat("instruction set ", kernels::NameOf(kernels::ActiveIsa()), ", also for the bounds"));
  std::vector<Decided> all;
  for (const Gate& gate : gates) {
    if (gate.processors > UsableProcessors()) {
      logger.Info(absl::StrCat(gate.name, ": skipped, because it needs ", gate.processors, " processors"));
      continue;
    }
    ASSIGN_OR_RETURN(const Decided decided, DecideGate(gate, flags, logger));
    if (json) {
      PrintJsonLine(DecisionJson(decided));
    } else {
      std::printf("%s\n", DecisionLine(decided).c_str());
    }
    std::fflush(stdout);
    all.push_back(decided);
  }
  if (json) {
    PrintJsonLine(VerdictJson(all));
  } else {
    std::printf("%s\n", VerdictLine(all).c_str());
  }
  return ExitCodeOf(all);
}

absl::StatusOr<int> GateVerb(const GateFlags& flags, bool json, Logger& logger) {
  if (flags.against.empty() != flags.baseline.empty()) {
    return absl::InvalidArgumentError("--against and --baseline need each other: use ./reprise gate --against COMMIT");
  }
  ASSIGN_OR_RETURN(const std::vector<Gate> gates, GatesOf(flags));
  if (!flags.programs) return JudgeGates(gates, flags, json, logger);
  for (const std::string& label : LabelsOf(gates)) std::printf("%s\n", label.c_str());
  return kExitOk;
}

}  // namespace
}  // namespace reprise::gate

int main(int argc, char** argv) {
  reprise::CommandLine command_line(
      "gate",
      "Measures the ratios of benchmarks/gates.toml on this machine and judges them: both sides in turn, with a rank "
      "test for noise. A gate fails (exit 1) when two measurements of it are significantly beyond its bound; nothing "
      "is judged while other processes use the machine (exit 75).",
      "./reprise gate --against HEAD~1");
  reprise::gate::GateFlags flags;
  command_line.Add("NAME", flags.names, "The gates to judge; all if none is named");
  command_line.Add("--against", flags.against,
                   "Build this commit too and judge the gates whose denominator is the baseline");
  command_line.Add("--file", flags.file, "The file of the gates", {.shows_default = true});
  command_line.Add("--patience", flags.patience_seconds, "Seconds to wait for an idle machine",
                   {.shows_default = true, .check = reprise::NotNegative()});
  command_line.Add("--root", flags.root, "The checkout, with its bazel-bin", {.is_hidden = true});
  command_line.Add("--baseline", flags.baseline, "The checkout of --against", {.is_hidden = true});
  command_line.Add("--proc", flags.proc, "For tests: the directory of stat and loadavg", {.is_hidden = true});
  command_line.Add("--programs", flags.programs, "Print the labels of the programs to build", {.is_hidden = true});
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  return reprise::RunOnOneRank(command_line, [&](reprise::Logger& logger) {
    return reprise::gate::GateVerb(flags, command_line.flags().json, logger);
  });
}
