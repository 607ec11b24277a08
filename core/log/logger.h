#ifndef CORE_LOG_LOGGER_H_
#define CORE_LOG_LOGGER_H_

// The log of a run: plain lines on stderr (stdout is for results). Only one rank logs; it receives the errors of other
// ranks as a status.

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

enum class Verbosity { kQuiet, kNormal };

struct LoggerOptions {
  int rank = 0;                               // all but rank 0 are silent
  Verbosity verbosity = Verbosity::kNormal;   // kQuiet: warnings and errors only
  std::FILE* stream = stderr;                 // not owned
  std::string prefix = "";                    // in front of each line: whose it is, where several runs write
  std::optional<int> columns = std::nullopt;  // the terminal's width, 0 without one; nullopt: queried each time
};

// Writes each line whole and immediately. Control characters are escaped, so that text from other sources cannot
// control the terminal (core/status/printable.h). A failed write is ignored: a run does not end because its terminal
// was closed. Thread-safe.
class Logger {
 public:
  explicit Logger(const LoggerOptions& options);
  ~Logger();  // erases the status line
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void Info(absl::string_view line);     // not logged when quiet
  void Warning(absl::string_view line);  // "warning: <line>"
  void Error(absl::string_view line);    // "error: <line>"

  // Writes the line that stays at the bottom of a terminal: each call rewrites it, truncated to the terminal's width,
  // and other lines erase it first. Does nothing without a terminal, or when quiet.
  void StatusLine(absl::string_view line);
  // Returns whether StatusLine writes anything.
  bool ShowsStatusLine() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise

#endif  // CORE_LOG_LOGGER_H_
