#ifndef PIPELINES_COMMAND_LINE_H_
#define PIPELINES_COMMAND_LINE_H_

// What all verbs' command lines share: flags, help, errors and exit codes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "core/log/logger.h"
#include "pipelines/configuration.h"

namespace reprise {

struct CommonFlags {
  KeyEdits keys;       // --set section.key=value, --unset section.key
  bool json = false;   // stdout holds one JSON object a line and nothing else
  bool quiet = false;  // no progress
  bool check = false;  // check everything that one process can, then stop
  int ranks = 0;       // for --check: how many ranks will be started
};

class CommandLine {
 public:
  // `example` is a command that works, shown by --help.
  CommandLine(const std::string& verb, const std::string& description, const std::string& example);

  CLI::App& app() { return app_; }
  const CommonFlags& flags() const { return flags_; }
  const std::string& verb() const { return verb_; }

  // Adds --set and --unset. `what`: the keys that they are for, in their help.
  void AddOverrides(const std::string& what = "a configuration key");

  // The exit code when the program should end now: 0 after --help or --version, 64 after a usage error, which is told
  // on stderr with the way to --help, and with what an unknown option may have been meant for. No value: go on.
  std::optional<int> Parse(int argc, char** argv);

 private:
  std::string Complaint(const CLI::ParseError& error) const;

  const std::string verb_;
  CLI::App app_;
  CommonFlags flags_;
  bool takes_keys_ = false;
};

// Accepts whole numbers of `low` or more: "0: expected a whole number, 1 or more".
CLI::Validator AtLeast(int64_t low);

// Accepts any text but the empty one.
CLI::Validator NotEmpty();

// "reprise 0.1.0", source revision, numeric contract, instruction set, compiler and library versions, one a line.
std::string VersionText();

}  // namespace reprise

#endif  // PIPELINES_COMMAND_LINE_H_
