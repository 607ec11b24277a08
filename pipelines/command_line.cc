#include "pipelines/command_line.h"

#include <cstdio>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "kernels/contract/numeric_contract.h"
#include "kernels/isa/isa.h"
#include "pipelines/versions.h"

namespace reprise {

CommandLine::CommandLine(const std::string& verb, const std::string& description, const std::string& example)
    : verb_(verb), app_(description, absl::StrCat("./reprise ", verb)) {
  app_.footer(
      absl::StrCat("\nExample:\n  ", example,
                   "\n\nExit codes: 0 done, 1 differs, 64 configuration or usage, 65 damaged data, 70 internal, "
                   "74 input/output, 75 try again."));
  app_.set_version_flag("--version", VersionText);
  app_.add_flag("--json", flags_.json, "One JSON object a line on stdout, and nothing else there");
  app_.add_flag("--quiet", flags_.quiet, "No progress");
  app_.add_flag("--check", flags_.check, "Check what one process can check, then stop")->group("");
  app_.add_option("--ranks-to-start", flags_.ranks, "For --check")->group("");
}

void CommandLine::AddOverrides(const std::string& what) {
  app_.add_option("--set", flags_.overrides, absl::StrCat("Overrides ", what, " (repeatable)"))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::optional<int> CommandLine::Parse(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& request) {  // --help or --version
    return app_.exit(request);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "reprise %s: error: %s (./reprise %s --help explains)\n", verb_.c_str(), error.what(),
                 verb_.c_str());
    return kExitConfiguration;
  }
}

CLI::Validator AtLeast(int64_t low) {
  return CLI::Validator(
      [low](std::string& text) -> std::string {
        int64_t value = 0;
        if (absl::SimpleAtoi(text, &value) && value >= low) return "";
        return absl::StrCat(text, ": expected a whole number, ", low, " or more");
      },
      "");
}

CLI::Validator NotEmpty() {
  return CLI::Validator([](std::string& text) -> std::string { return text.empty() ? "it is empty" : ""; }, "");
}

std::string VersionText() {
  const absl::Status isa = kernels::InitializeIsa();
  const Versions versions = VersionsOfThisProgram();
  return absl::StrCat("reprise ", versions.product, "\nrevision ", versions.revision, "\nnumeric contract ",
                      kNumericContract, "\ninstruction set ",
                      isa.ok() ? kernels::NameOf(kernels::ActiveIsa()) : isa.message(), "\ncompiler ",
                      versions.compiler, "\nHDF5 ", versions.hdf5, "\nMPI ", versions.mpi);
}

}  // namespace reprise
