#include "pipelines/program/command_line.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "core/config/field_list.h"
#include "core/config/nearest.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "kernels/contract/numeric_contract.h"
#include "kernels/isa/isa.h"
#include "pipelines/program/versions.h"
#include "rl/config/config.h"

namespace reprise {
namespace {

// Returns the key or option with an option's name (without its dashes) in other programs, or the key with that name; of
// several the first outside [sft].
std::optional<std::string> KeyOf(const std::string& name, const config::FieldList& list) {
  for (const config::OtherName& other : list.other_names()) {
    if (name == other.elsewhere) return std::string(other.here);
  }
  for (const config::Field& field : list.fields()) {
    if (name == field.key && field.section != "sft") return field.Name();
    if (name == absl::StrCat(field.section, "_", field.key)) return field.Name();
  }
  return std::nullopt;
}

// The same for the nearest name.
std::optional<std::string> FindNearestKey(const std::string& name, const config::FieldList& list) {
  std::vector<std::string> names;
  for (const config::OtherName& other : list.other_names()) names.emplace_back(other.elsewhere);
  for (const config::Field& field : list.fields()) names.emplace_back(field.key);
  const std::optional<std::string> nearest = config::Nearest(name, names);
  return nearest ? KeyOf(*nearest, list) : std::nullopt;
}

// "unknown option --ouput; did you mean --output?", with the nearest of `options`; or, where the verb takes keys, how
// to set the key with the option's name, here or in TRL: "did you mean --set optimizer.learning_rate=1e-3?".
std::string UnknownOption(absl::string_view argument, const std::vector<std::string>& options, bool takes_keys) {
  const size_t equals = argument.find('=');
  const std::string option(argument.substr(0, equals));
  const std::string value(equals == absl::string_view::npos ? "..." : argument.substr(equals + 1));
  const std::string unknown = absl::StrCat("unknown option ", option);
  const std::optional<std::string> nearest = config::Nearest(option, options);
  if (option == "--ranks" && nearest == option) {
    return absl::StrCat(unknown, ": it is the launcher's; mpirun -n N starts N ranks of a program");
  }
  if (nearest == option)
    return absl::StrCat(unknown, ": it is the launcher's, ./reprise; slurm/submit.sh takes it too");
  const std::string name = absl::StrReplaceAll(absl::AsciiStrToLower(option.substr(2)), {{"-", "_"}, {".", "_"}});
  rl::Config config;
  config::FieldList list;
  rl::Visit(list, config);
  std::optional<std::string> key = takes_keys ? KeyOf(name, list) : std::nullopt;
  const bool is_near = nearest && config::EditDistance(option, *nearest) <= 2;
  if (takes_keys && !key && !is_near) key = FindNearestKey(name, list);
  if (key) {
    if (absl::StartsWith(*key, "--")) return absl::StrCat(unknown, "; did you mean ", *key, "?");
    return absl::StrCat(unknown, "; did you mean --set ", *key, "=", value, "?");
  }
  return nearest ? absl::StrCat(unknown, "; did you mean ", *nearest, "?") : unknown;
}

// For example "-o": the only one-letter option is -h.
std::string UnknownLetter(absl::string_view argument, const std::vector<std::string>& options) {
  std::vector<std::string> meant;
  for (const std::string& option : options) {
    if (option[2] == argument[1]) meant.push_back(option);
  }
  return absl::StrCat("unknown option ", argument,
                      meant.empty() ? "" : absl::StrCat("; did you mean ", absl::StrJoin(meant, " or "), "?"));
}

// An option that the launcher, ./reprise, takes out of the arguments of a verb.
struct LauncherOption {
  const char *name, *value, *help;
};

std::vector<LauncherOption> LauncherOptions(absl::string_view verb) {
  const bool is_job = verb == "train" || verb == "evaluate" || verb == "sweep";
  std::vector<LauncherOption> options;
  if (is_job || verb == "reproduce") options.push_back({"--ranks", "N", "Ranks on this machine (default 1)"});
  if (!is_job) return options;
  options.insert(options.end(),
                 {{"--slurm", "", "Submits a job of a Slurm cluster instead, and prints its number (slurm/README.md)"},
                  {"--nodes", "N", "With --slurm: nodes of the job (default 1)"},
                  {"--ranks-per-node", "R", "With --slurm: ranks on each node (default 1)"},
                  {"--time", "LIMIT", "With --slurm: the time limit of the job, as sbatch takes it: 4:00:00"},
                  {"--partition", "NAME", "With --slurm: the partition of the job"},
                  {"--account", "NAME", "With --slurm: the account of the job"},
                  {"--qos", "NAME", "With --slurm: the quality of service of the job"},
                  {"--constraint", "LIST", "With --slurm: the features that the nodes must have"},
                  {"--mem", "SIZE", "With --slurm: the memory of each node"},
                  {"--site", "NAME",
                   "With --slurm: the settings of the cluster, slurm/sites/NAME.env or a file, for these options and "
                   "others, in every job"}});
  if (verb == "sweep") {  // which has an option --dry-run of its own
    options.push_back({"--array", "TASKS", "With --slurm: a job array that shares the trials"});
  } else {
    options.push_back({"--dry-run", "", "With --slurm: prints the batch script instead of submitting it"});
  }
  return options;
}

// Whether a value would be an option. Negative numbers are values, and so is "-".
bool IsOption(absl::string_view value) {
  return value.size() > 1 && value[0] == '-' && value[1] != '.' &&
         !absl::ascii_isdigit(static_cast<unsigned char>(value[1]));
}

// Returns what is wrong with the value of an option; "" for a value.
std::string ComplaintOfValue(absl::string_view option, absl::string_view value) {
  if (value.empty()) return absl::StrCat(option, " has an empty value: perhaps a variable of your shell is not set");
  if (!IsOption(value)) return "";
  return absl::StrCat(option, " needs a value, and ", value, " is an option; a file of that name is ./", value);
}

CLI::Validator MakeValidator(const OptionCheck& check) {
  return CLI::Validator([check](std::string& text) { return check(text); }, "");
}

}  // namespace

struct CommandLine::Parser {
  CLI::App app;

  template <typename T>
  void Add(const std::string& name, T& value, const std::string& help, const OptionRules& rules) {
    CLI::Option* const option = app.add_option(name, value, help)->required(rules.is_required);
    if (rules.check != nullptr) option->check(MakeValidator(rules.check));
    if (rules.shows_default) option->capture_default_str();
    if (!rules.needs.empty()) option->needs(app.get_option(rules.needs));
  }

  void AddRepeated(const std::string& name, std::vector<std::string>& values, const std::string& help) {
    app.add_option(name, values, absl::StrCat(help, " (repeatable)"))
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }

  // Returns what is wrong with an argument which CLI11 would take as it is: empty, or an option in place of a value.
  // Such a command would do something else than what was meant, for example train with the defaults.
  std::string ComplaintOfArguments(absl::Span<char* const> arguments) const {
    bool has_options = true;  // until "--"
    for (size_t i = 0; i < arguments.size(); ++i) {
      const absl::string_view argument = arguments[i];
      if (argument.empty()) return "an argument is empty: perhaps a variable of your shell is not set";
      has_options = has_options && argument != "--";
      if (!has_options || !absl::StartsWith(argument, "--")) continue;
      const size_t equals = argument.find('=');
      const absl::string_view name = argument.substr(0, equals);
      const CLI::Option* const option = app.get_option_no_throw(std::string(name));
      const bool takes_value = option != nullptr && option->get_items_expected_max() > 0;
      const bool has_next = takes_value && equals == absl::string_view::npos && i + 1 < arguments.size();
      std::string complaint;
      if (takes_value && equals == absl::string_view::npos && !has_next) {
        complaint = absl::StrCat(name, " needs a value, and is the last argument");
      }
      if (equals != absl::string_view::npos) complaint = ComplaintOfValue(name, argument.substr(equals + 1));
      if (has_next) complaint = ComplaintOfValue(name, arguments[++i]);
      if (!complaint.empty()) return complaint;
    }
    return "";
  }

  // Returns the message of an error. launcher_options: what the launcher accepts for this verb.
  std::string Complaint(const CLI::ParseError& error, const std::vector<LauncherOption>& launcher_options,
                        bool takes_keys) const {
    std::vector<std::string> options;
    for (const CLI::Option* const option : app.get_options()) {
      if (option->get_group().empty()) continue;  // an option of the launcher
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    }
    for (const LauncherOption& option : launcher_options) options.emplace_back(option.name);
    for (const std::string& argument : app.remaining()) {
      if (argument.size() > 2 && absl::StartsWith(argument, "--")) return UnknownOption(argument, options, takes_keys);
      if (argument.size() > 1 && argument[0] == '-' && argument[1] != '-') return UnknownLetter(argument, options);
      const size_t equals = argument.find('=');
      if (takes_keys && equals != std::string::npos && argument.find('.') < equals) {
        return absl::StrCat(argument, ": a key is set by --set ", argument);
      }
    }
    const absl::string_view what = error.what();
    const size_t several = what.find(": At Most 1 required but received ");
    if (several != absl::string_view::npos) return absl::StrCat(what.substr(0, several), " is given more than once");
    return std::string(what);
  }
};

CommandLine::CommandLine(const std::string& verb, const std::string& description, const std::string& example)
    : verb_(verb), parser_(new Parser{CLI::App(description, absl::StrCat("./reprise ", verb))}) {
  CLI::App& app = parser_->app;
  std::string of_launcher;
  for (const LauncherOption& option : LauncherOptions(verb)) {
    absl::StrAppendFormat(&of_launcher, "  %-27s %s\n", absl::StrCat(option.name, " ", option.value), option.help);
  }
  if (!of_launcher.empty()) of_launcher = absl::StrCat("\nOptions of the launcher:\n", of_launcher);
  app.footer(absl::StrCat(of_launcher, "\nExample:\n  ", example,
                          "\n\nExit codes: 0 done, 1 differs, 64 configuration or usage, 65 damaged data, 70 internal, "
                          "74 input/output, 75 try again."));
  app.set_version_flag("--version", VersionText);
  app.add_flag("--json", flags_.json, "Prints only JSON objects on stdout, one per line");
  app.add_flag("--quiet", flags_.quiet, "No progress");
  app.add_flag("--check", flags_.check, "Checks what one process can check, then exits")->group("");
  app.add_option("--ranks-to-start", flags_.ranks, "For --check")->group("");
}

CommandLine::~CommandLine() = default;

void CommandLine::Add(const std::string& name, std::string& value, const std::string& help, const OptionRules& rules) {
  parser_->Add(name, value, help, rules);
}

void CommandLine::Add(const std::string& name, int64_t& value, const std::string& help, const OptionRules& rules) {
  parser_->Add(name, value, help, rules);
}

void CommandLine::Add(const std::string& name, std::optional<int64_t>& value, const std::string& help,
                      const OptionRules& rules) {
  parser_->Add(name, value, help, rules);
}

void CommandLine::Add(const std::string& name, bool& value, const std::string& help) {
  parser_->app.add_flag(name, value, help);
}

void CommandLine::AddRepeated(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  parser_->AddRepeated(name, values, help);
}

void CommandLine::AddOverrides(const std::string& what) {
  takes_keys_ = true;
  parser_->AddRepeated("--set", flags_.keys.set, absl::StrCat("Overrides ", what, ": --set section.key=value"));
  parser_->AddRepeated("--unset", flags_.keys.unset,
                       absl::StrCat("Restores the default of ", what, ": --unset section.key"));
}

std::optional<int> CommandLine::Parse(int argc, char** argv) {
  std::string complaint;
  try {
    complaint =
        parser_->ComplaintOfArguments(absl::MakeConstSpan(argv, static_cast<size_t>(argc)).subspan(argc > 0 ? 1 : 0));
    if (complaint.empty()) {
      parser_->app.parse(argc, argv);
      return std::nullopt;
    }
  } catch (const CLI::Success& request) {  // --help or --version
    return parser_->app.exit(request);
  } catch (const CLI::ParseError& error) {
    complaint = parser_->Complaint(error, LauncherOptions(verb_), takes_keys_);
  }
  std::fprintf(stderr, "reprise %s: error: %s (./reprise %s --help explains)\n", verb_.c_str(),
               Printable(complaint).c_str(), verb_.c_str());
  return kExitConfiguration;
}

OptionCheck AtLeast(int64_t low) {
  return [low](const std::string& text) -> std::string {
    int64_t value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= low) return "";
    return absl::StrCat(text, ": expected a whole number, ", low, " or more");
  };
}

OptionCheck AsKey(absl::string_view section, absl::string_view key) {
  rl::Config config;
  config::FieldList list;
  rl::Visit(list, config);
  const config::Field* const field = list.Find(section, key);
  CHECK(field != nullptr && std::holds_alternative<config::IntRange>(field->allowed));
  return [range = std::get<config::IntRange>(field->allowed)](const std::string& text) -> std::string {
    int64_t value = 0;
    if (absl::SimpleAtoi(text, &value) && range.Contains(value)) return "";
    return absl::StrCat(text, ": expected a whole number, ", range.Text());
  };
}

OptionCheck OneOf(std::vector<std::string> names) {
  return [names = std::move(names)](const std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return "";
    return absl::StrCat(text, ": expected one of ", absl::StrJoin(names, ", "));
  };
}

OptionCheck StepOrBest() {
  return [](const std::string& text) -> std::string {
    int64_t value = 0;
    if (text == "best" || (absl::SimpleAtoi(text, &value) && value >= 1)) return "";
    return absl::StrCat(text, ": expected a training step, 1 or more, or best");
  };
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
