#ifndef CORE_LOG_LOGGER_H_
#define CORE_LOG_LOGGER_H_

// What a run says to the people who watch it: plain lines on stderr (stdout belongs to results). Of many ranks one
// speaks; what went wrong on another reaches it as a status.

#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/string_view.h"

namespace reprise {

enum class Verbosity { kQuiet, kNormal, kVerbose };

struct LoggerOptions {
  int rank = 0;                               // all but rank 0 are silent
  Verbosity verbosity = Verbosity::kNormal;   // kQuiet: warnings and errors only
  std::FILE* stream = stderr;                 // not owned
  std::optional<int> columns = std::nullopt;  // 0: no terminal, else its width; not given: asks the stream each time
};

// Lines are written whole and at once, and of text that others wrote nothing that a terminal would obey
// (core/status/printable.h). A failure to write is ignored: a run does not end because its terminal went
// away. Thread-safe.
class Logger {
 public:
  explicit Logger(const LoggerOptions& options);
  ~Logger();  // wipes the status line
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void Debug(absl::string_view line);    // said when verbose
  void Info(absl::string_view line);     // not said when quiet
  void Warning(absl::string_view line);  // "warning: <line>"
  void Error(absl::string_view line);    // "error: <line>"

  // The line that stays at the bottom of a terminal: each call rewrites it, cut to the terminal's width, and other
  // lines wipe it first. Nothing happens without a terminal, or when quiet.
  void StatusLine(absl::string_view line);
  // Whether StatusLine would show anything.
  bool ShowsStatusLine() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise

#endif  // CORE_LOG_LOGGER_H_
