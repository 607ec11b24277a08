#include "tests/faults/injection.h"

#include <filesystem>
#include <sstream>

#include "core/status/check.h"
#include "tests/programs/process.h"

namespace reprise::testing {
namespace {

constexpr char kShim[] = "tests/faults/shim/libfault_shim.so";

// "a.tmp-PID-RANDOM-NUMBER" to "a.tmp".
std::string WithoutTemporaryNumbers(const std::string& path) {
  const size_t at = path.find(".tmp-");
  return at == std::string::npos ? path : path.substr(0, at + 4);
}

}  // namespace

std::map<std::string, std::string> EnvironmentVariables(const Injection& injection) {
  std::map<std::string, std::string> variables = {
      {"LD_PRELOAD", std::filesystem::absolute(kShim).string()},
      {"FAULT_SHIM_DIRECTORY", injection.directory},
      {"FAULT_SHIM_MATCH", injection.match},
      {"FAULT_SHIM_LOG", injection.log},
      {"FAULT_SHIM_CALL", std::to_string(injection.call)},
      {"FAULT_SHIM_FAULT", injection.fault},
      {"FAULT_SHIM_ERRNO", std::to_string(injection.error_number)},
      {"FAULT_SHIM_SIGNAL", std::to_string(injection.signal)},
      {"FAULT_SHIM_AFTER", std::to_string(injection.signal_after_ms)},
  };
  if (injection.rank >= 0) variables["FAULT_SHIM_RANK"] = std::to_string(injection.rank);
#ifdef __SANITIZE_ADDRESS__
  variables["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_container_overflow=0";  // the shim is loaded before it
#endif
  return variables;
}

bool LoggedCall::changes() const {
  for (const char* reader : {"find", "open", "read", "list", "close"}) {
    if (action == reader) return false;
  }
  return true;
}

std::string LoggedCall::text() const {
  std::string text = action;
  for (const std::string& path : paths) text += " " + WithoutTemporaryNumbers(path);
  return text;
}

std::vector<LoggedCall> ReadLog(const std::string& log) {
  std::vector<LoggedCall> calls;
  std::istringstream lines(Contents(log));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    size_t number = 0;
    LoggedCall call;
    words >> number >> call.action;
    CHECK_EQ(number, calls.size());
    for (std::string path; words >> path;) call.paths.push_back(path);
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace reprise::testing
