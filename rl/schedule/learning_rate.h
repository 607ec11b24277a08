#ifndef RL_SCHEDULE_LEARNING_RATE_H_
#define RL_SCHEDULE_LEARNING_RATE_H_

// Learning rates by step, with the formulas of Hugging Face's schedulers (which TRL uses). After k updates, with w
// warm-up updates and n in total:
//   k < w        peak k / max(1, w)
//   constant     peak                                           ("constant_with_warmup")
//   linear       peak max(0, (n - k) / max(1, n - w))
//   cosine       peak max(0, (1 + cos(pi (k - w) / max(1, n - w))) / 2)
// As in Hugging Face's, the first update of a warm-up has rate 0 and the last update of a decay does not. In addition,
//   warmup_start = s     the warm-up rises from s peak instead of 0:     peak (s + (1 - s) k / max(1, w))
//   min_lr_rate = m      a decay ends at m peak instead of 0 (Hugging Face's cosine_with_min_lr):
//                                                                        peak (m + (1 - m) factor)
//   warmup_ratio = r     w is ceil(r n) (Hugging Face's warmup_ratio)
//   warmup_form          how the warm-up rises and what follows it:
//     from_zero          as above
//     to_peak            update k has rate peak (k + 1) / w, so that the first one moves and the w-th has the peak
//     delay              no warm-up: the rate is the peak until k = w, and the schedule then runs over n further
//                        updates, of which a run of n makes n - w. It is there to repeat published runs.

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::rl {

enum class Schedule { kConstant, kLinear, kCosine };

// "constant", "linear", "cosine".
absl::StatusOr<Schedule> ParseSchedule(absl::string_view name);
absl::string_view ScheduleName(Schedule schedule);

// In the order of the names of optimizer.warmup_form.
enum class WarmupForm { kFromZero, kToPeak, kDelay };

struct ScheduleOptions {
  Schedule schedule = Schedule::kLinear;
  double learning_rate = 1e-6;  // the peak
  int64_t warmup_steps = 0;
  int64_t total_steps = 1;    // updates of the run
  double warmup_start = 0.0;  // share of the peak, 0 to 1
  double min_lr_rate = 0.0;   // share of the peak, 0 to 1
  double warmup_ratio = 0.0;  // 0 to 1; above 0 it replaces warmup_steps
  WarmupForm warmup_form = WarmupForm::kFromZero;
};

// Returns the rate of the update after `updates_done` >= 0 others. Pure, the same bits on every machine.
double LearningRate(const ScheduleOptions& options, int64_t updates_done);

// Returns the number of warm-up updates.
int64_t WarmupSteps(const ScheduleOptions& options);

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_LEARNING_RATE_H_
