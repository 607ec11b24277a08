#ifndef PIPELINES_SWEEPS_STAGE_PROGRESS_H_
#define PIPELINES_SWEEPS_STAGE_PROGRESS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/log/logger.h"
#include "core/log/progress.h"

namespace reprise {

// Reports the progress of one thing after the other, such as reading runs and comparing variants, each of which is
// named at every call. Short ones are not reported: a sweep of few trials has its table at once.
class StageProgress {
 public:
  // `detail` ends each line: "for the table".
  StageProgress(Logger* logger, absl::string_view detail) : logger_(logger), detail_(detail) {}

  void Update(absl::string_view what, int64_t done, int64_t all);

 private:
  Logger* const logger_;
  const std::string detail_;
  std::string what_;
  std::optional<Progress> progress_;
};

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_STAGE_PROGRESS_H_
