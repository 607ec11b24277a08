#ifndef PIPELINES_TRAINING_INTERRUPTION_H_
#define PIPELINES_TRAINING_INTERRUPTION_H_

// The status of work that ended because a signal asked for it, which a caller must tell from other "try again".

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace reprise {

// Unavailable, with a mark that AgreeOk and WithContext keep.
absl::Status InterruptedError(absl::string_view message);

// Returns whether the status has the mark.
bool IsInterrupted(const absl::Status& status);

}  // namespace reprise

#endif  // PIPELINES_TRAINING_INTERRUPTION_H_
