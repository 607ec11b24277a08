#ifndef CORE_LOG_PROGRESS_H_
#define CORE_LOG_PROGRESS_H_

// Reports the progress, the speed and the remaining time of a run: one line that is rewritten on a terminal, and an
// occasional line where there is no terminal.

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/log/logger.h"

namespace reprise {

// "14 s", "3 min 20 s", "2 h 5 min", "3 d 4 h": the two largest units, rounded down. seconds >= 0.
std::string FormatDuration(double seconds);

// "step 120/300  reward 0.83  12.3 steps/s  14 s left"; slow steps as "2.5 s/step". A rate of 0 is unknown: rate and
// remaining time are then omitted, as is an empty detail.
std::string FormatProgress(int64_t step, int64_t steps, absl::string_view detail, double steps_per_second,
                           absl::string_view unit = "step");

struct ProgressOptions {
  int64_t first_step = 0;     // steps that an earlier process did, in a resumed run
  int64_t steps = 0;          // steps in all
  int64_t log_every = 0;      // without a terminal: steps between lines; 0: at most one line per ten seconds
  std::string unit = "step";  // what is counted
};

// Not thread-safe. The rate is that of the last 64 marks, which are steps at least half a second apart.
class Progress {
 public:
  // `clock` gives seconds from any origin and does not run backwards. `logger` must outlive this.
  Progress(const ProgressOptions& options, Logger* logger, std::function<double()> clock);

  // Reports that `step` steps are done; `detail` is a result ("reward 0.83"). The last step always writes a line.
  void Update(int64_t step, absl::string_view detail);

 private:
  struct Mark {
    double time;
    int64_t step;
  };

  double StepsPerSecond(const Mark& now) const;
  bool IsDue(const Mark& now) const;

  const ProgressOptions options_;
  Logger* const logger_;
  const std::function<double()> clock_;
  std::deque<Mark> marks_;  // not empty
  double last_shown_;       // -infinity before the first
};

}  // namespace reprise

#endif  // CORE_LOG_PROGRESS_H_
