#ifndef PIPELINES_PROGRAM_COMMAND_LINE_H_
#define PIPELINES_PROGRAM_COMMAND_LINE_H_

// The common parts of all verbs' command lines: flags, help, errors and exit codes.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/log/logger.h"
#include "pipelines/program/configuration.h"

namespace reprise {

struct CommonFlags {
  KeyEdits keys;       // --set section.key=value, --unset section.key
  bool json = false;   // print only JSON objects on stdout, one per line
  bool quiet = false;  // no progress
  bool check = false;  // check everything that one process can check, then exit
  int ranks = 0;       // for --check: how many ranks will be started
};

// Returns the error in the text of an option; empty without one.
using OptionCheck = std::function<std::string(const std::string& text)>;

// Accepts whole numbers of `low` or more: "0: expected a whole number, 1 or more".
OptionCheck AtLeast(int64_t low);
// Accepts the whole numbers that the option's key allows: "0: expected a whole number, 1 to 64". The name must be that
// of a key of whole numbers (checked).
OptionCheck AsKey(absl::string_view section, absl::string_view key);
OptionCheck OneOf(std::vector<std::string> names);
// Accepts "best" and the numbers of AtLeast(1): "0: expected a training step, 1 or more, or best".
OptionCheck StepOrBest();

struct OptionRules {
  bool is_required = false;
  bool shows_default = false;  // in --help
  OptionCheck check = nullptr;
  std::string needs = {};  // another option that this one requires
};

class CommandLine {
 public:
  // `example` is a working command, shown by --help.
  CommandLine(const std::string& verb, const std::string& description, const std::string& example);
  ~CommandLine();

  const CommonFlags& flags() const { return flags_; }
  const std::string& verb() const { return verb_; }

  // Adds an option "--name", or a positional argument "NAME". Parse sets `value`, which keeps its default if the option
  // is not given. A bool option takes no value and becomes true.
  void Add(const std::string& name, std::string& value, const std::string& help, const OptionRules& rules = {});
  void Add(const std::string& name, int64_t& value, const std::string& help, const OptionRules& rules = {});
  void Add(const std::string& name, std::optional<int64_t>& value, const std::string& help,
           const OptionRules& rules = {});
  // An option that may be given several times, each time with one value.
  void AddRepeated(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void Add(const std::string& name, bool& value, const std::string& help);

  // Adds --set and --unset. `what` describes their keys in the help.
  void AddOverrides(const std::string& what = "a configuration key");

  // Returns the exit code if the program should exit: 0 after --help or --version, 64 after a usage error, which is
  // printed on stderr with a reference to --help and, for an unknown option, a suggestion. nullopt: continue. An empty
  // argument and an option in the place of a value are errors.
  std::optional<int> Parse(int argc, char** argv);

 private:
  struct Parser;
  const std::string verb_;
  CommonFlags flags_;
  bool takes_keys_ = false;
  std::unique_ptr<Parser> parser_;
};

// "reprise 0.1.0", source revision, numeric contract, instruction set, compiler and library versions, one a line.
std::string VersionText();

}  // namespace reprise

#endif  // PIPELINES_PROGRAM_COMMAND_LINE_H_
