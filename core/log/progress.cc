#include "core/log/progress.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace reprise {
namespace {

constexpr double kSecondsBetweenMarks = 0.5;
constexpr size_t kMarks = 64;
constexpr double kSecondsBetweenRewrites = 0.1;
constexpr double kSecondsBetweenLines = 10;

std::string TwoUnits(int64_t count, int64_t in_unit, absl::string_view unit, absl::string_view smaller) {
  const int64_t rest = count % in_unit;
  const std::string large = absl::StrCat(count / in_unit, " ", unit);
  return rest == 0 ? large : absl::StrCat(large, " ", rest, " ", smaller);
}

}  // namespace

std::string FormatDuration(double seconds) {
  constexpr double kLongest = 1e15;  // above this, seconds would not fit an integer
  const int64_t whole = static_cast<int64_t>(seconds < kLongest ? seconds : kLongest);
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 60 * 60) return TwoUnits(whole, 60, "min", "s");
  if (whole < 24 * 60 * 60) return TwoUnits(whole / 60, 60, "h", "min");
  return TwoUnits(whole / (60 * 60), 24, "d", "h");
}

std::string FormatProgress(int64_t step, int64_t steps, absl::string_view detail, double steps_per_second,
                           absl::string_view unit) {
  std::string line = absl::StrCat(unit, " ", step, "/", steps);
  if (!detail.empty()) absl::StrAppend(&line, "  ", detail);
  if (!(steps_per_second > 0)) return line;
  if (steps_per_second >= 1) {
    absl::StrAppendFormat(&line, "  %.1f %ss/s", steps_per_second, unit);
  } else {
    absl::StrAppendFormat(&line, "  %.1f s/%s", 1 / steps_per_second, unit);
  }
  if (step >= steps) return line;
  return absl::StrCat(line, "  ", FormatDuration(static_cast<double>(steps - step) / steps_per_second), " left");
}

Progress::Progress(const ProgressOptions& options, Logger* logger, std::function<double()> clock)
    : options_(options),
      logger_(logger),
      clock_(std::move(clock)),
      marks_({{clock_(), options.first_step}}),
      last_shown_(-std::numeric_limits<double>::infinity()) {}

void Progress::Update(int64_t step, absl::string_view detail) {
  const Mark now = {clock_(), step};
  const bool last = step >= options_.steps;
  if (last || IsDue(now)) {
    const std::string line = FormatProgress(step, options_.steps, detail, StepsPerSecond(now), options_.unit);
    if (logger_->ShowsStatusLine() && !last) {
      logger_->StatusLine(line);
    } else {
      logger_->Info(line);
    }
    last_shown_ = now.time;
  }
  if (now.time - marks_.back().time < kSecondsBetweenMarks) return;
  marks_.push_back(now);
  if (marks_.size() > kMarks) marks_.pop_front();
}

double Progress::StepsPerSecond(const Mark& now) const {
  const Mark& then = marks_.front();
  const double seconds = now.time - then.time;
  return seconds > 0 ? static_cast<double>(now.step - then.step) / seconds : 0;
}

bool Progress::IsDue(const Mark& now) const {
  const double since = now.time - last_shown_;
  if (logger_->ShowsStatusLine()) return since >= kSecondsBetweenRewrites;
  return options_.log_every > 0 ? now.step % options_.log_every == 0 : since >= kSecondsBetweenLines;
}

}  // namespace reprise
