#include "core/log/logger.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/printable.h"

namespace reprise {
namespace {

using StreamSink = spdlog::sinks::stdout_sink_base<spdlog::details::console_mutex>;

constexpr char kWipe[] = "\r\x1b[K";  // moves to the line's start and erases to its end

// 0 if the stream is not a terminal.
int ColumnsOf(std::FILE* stream) {
  const int file = fileno(stream);
  if (file < 0 || isatty(file) == 0) return 0;
  winsize size = {};
  const bool known = ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

spdlog::level::level_enum LevelOf(const LoggerOptions& options) {
  if (options.rank != 0) return spdlog::level::off;
  return options.verbosity == Verbosity::kQuiet ? spdlog::level::warn : spdlog::level::info;
}

}  // namespace

struct Logger::State {
  explicit State(const LoggerOptions& options)
      : options(options),
        own_prefix(Printable(options.prefix)),
        log("reprise", std::make_shared<StreamSink>(options.stream)) {
    // The formatter adds no line end, because a status line has none.
    log.set_formatter(
        std::make_unique<spdlog::pattern_formatter>("%v", spdlog::pattern_time_type::local, /*eol=*/std::string()));
    log.set_level(LevelOf(options));
    log.set_error_handler([](const std::string&) {});
  }

  int Columns() const { return options.columns.has_value() ? *options.columns : ColumnsOf(options.stream); }

  void Line(spdlog::level::level_enum level, absl::string_view prefix, absl::string_view line) {
    if (!log.should_log(level)) return;
    const std::lock_guard<std::mutex> lock(mutex);
    Write(level, absl::StrCat(status_shown ? kWipe : "", own_prefix, prefix, Printable(line), "\n"));
    status_shown = false;
  }

  // Writes `text` verbatim: braces in it are not a format.
  void Write(spdlog::level::level_enum level, const std::string& text) {
    log.log(level, spdlog::string_view_t(text.data(), text.size()));
  }

  const LoggerOptions options;
  const std::string own_prefix;
  std::mutex mutex;
  spdlog::logger log;         // guarded by mutex
  bool status_shown = false;  // guarded by mutex
};

Logger::Logger(const LoggerOptions& options) : state_(std::make_unique<State>(options)) {}

Logger::~Logger() {
  if (state_->status_shown) state_->Write(spdlog::level::info, kWipe);
}

void Logger::Info(absl::string_view line) { state_->Line(spdlog::level::info, "", line); }
void Logger::Warning(absl::string_view line) { state_->Line(spdlog::level::warn, "warning: ", line); }
void Logger::Error(absl::string_view line) { state_->Line(spdlog::level::err, "error: ", line); }

bool Logger::ShowsStatusLine() const { return state_->log.should_log(spdlog::level::info) && state_->Columns() > 0; }

void Logger::StatusLine(absl::string_view line) {
  if (!ShowsStatusLine()) return;
  // A full last column would wrap, and a wrapped line cannot be rewritten.
  const size_t room = static_cast<size_t>(std::max(1, state_->Columns()) - 1);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->Write(spdlog::level::info,
                absl::StrCat(kWipe, absl::StrCat(state_->own_prefix, Printable(line)).substr(0, room)));
  state_->status_shown = true;
}

}  // namespace reprise
