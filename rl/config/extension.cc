#include "rl/config/extension.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status/status_macros.h"

namespace reprise::rl {

absl::StatusOr<std::vector<int64_t>> EarlierEnds(const RunConfig& run) {
  std::vector<int64_t> ends;
  if (run.extended_at.empty()) return ends;
  for (const absl::string_view text : absl::StrSplit(run.extended_at, ' ')) {
    int64_t end = 0;
    const int64_t before = ends.empty() ? 0 : ends.back();
    // Each list has one spelling, because the text is part of the run's identity.
    if (!absl::SimpleAtoi(text, &end) || text != absl::StrCat(end) || end <= before || end >= run.steps) {
      return absl::InvalidArgumentError(absl::StrCat("run.extended_at is \"", run.extended_at,
                                                     "\"; expected ascending steps below run.steps ", run.steps,
                                                     ", as \"100 200\""));
    }
    ends.push_back(end);
  }
  return ends;
}

int64_t EndOfPart(const RunConfig& run, int64_t step) {
  const std::vector<int64_t> ends = EarlierEnds(run).value_or(std::vector<int64_t>());
  const auto end = std::lower_bound(ends.begin(), ends.end(), step);
  return end == ends.end() ? run.steps : *end;
}

bool DependsOnEnd(const Config& config) {
  return config.optimizer.schedule != Schedule::kConstant || config.optimizer.warmup_ratio > 0 ||
         config.algorithm.kl.schedule == KlSchedule::kLinear;
}

absl::StatusOr<Config> Extend(Config config, int64_t steps) {
  const int64_t end = config.run.steps;
  if (steps <= end) {
    return absl::InvalidArgumentError(
        absl::StrCat("run.steps ", steps, " is not more than the ", end, " that the run has"));
  }
  config.run.steps = steps;
  if (!DependsOnEnd(config) || end == 0) return config;
  absl::StrAppend(&config.run.extended_at, config.run.extended_at.empty() ? "" : " ", end);
  return config;
}

}  // namespace reprise::rl
