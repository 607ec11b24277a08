#include "rl/schedule/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/config/unknown_name.h"
#include "core/status/check.h"
#include "kernels/math/scalar_math.h"

namespace reprise::rl {
namespace {

constexpr absl::string_view kNames[] = {"constant", "linear", "cosine"};  // in the order of the enumeration

// Interpolates from `low` to 1; exactly `share` for low = 0.
double Between(double low, double share) { return low + (1.0 - low) * share; }

double Decay(const ScheduleOptions& options, double warmup, double done) {
  double total = static_cast<double>(options.total_steps);
  if (options.warmup_form == WarmupForm::kDelay) total += warmup;
  const double decay = std::max(1.0, total - warmup);
  switch (options.schedule) {
    case Schedule::kLinear:
      return std::max(0.0, (total - done) / decay);
    case Schedule::kCosine:
      // Hugging Face's cosine rises again after the end; a run never gets there, and the rate must not rise.
      return 0.5 * (1.0 + kernels::Cos(std::numbers::pi * std::min(1.0, (done - warmup) / decay)));
    case Schedule::kConstant:
      break;
  }
  return 1.0;
}

double Factor(const ScheduleOptions& options, int64_t updates_done) {
  const double done = static_cast<double>(updates_done), warmup = static_cast<double>(WarmupSteps(options));
  if (done < warmup) {
    if (options.warmup_form == WarmupForm::kDelay) return 1.0;
    const double risen = options.warmup_form == WarmupForm::kToPeak ? done + 1.0 : done;
    return Between(options.warmup_start, risen / std::max(1.0, warmup));
  }
  return Between(options.min_lr_rate, Decay(options, warmup, done));
}

}  // namespace

absl::StatusOr<Schedule> ParseSchedule(absl::string_view name) { return ParseName<Schedule>("schedule", name, kNames); }

absl::string_view ScheduleName(Schedule schedule) { return kNames[static_cast<size_t>(schedule)]; }

double LearningRate(const ScheduleOptions& options, int64_t updates_done) {
  CHECK_GE(updates_done, 0);
  CHECK_GE(options.warmup_steps, 0);
  return options.learning_rate * Factor(options, updates_done);
}

int64_t WarmupSteps(const ScheduleOptions& options) {
  CHECK(options.warmup_ratio >= 0.0 && options.warmup_ratio <= 1.0);
  if (options.warmup_ratio == 0.0) return options.warmup_steps;
  return static_cast<int64_t>(std::ceil(options.warmup_ratio * static_cast<double>(options.total_steps)));
}

}  // namespace reprise::rl
