#include "pipelines/training/interruption.h"

#include "absl/strings/cord.h"

namespace reprise {
namespace {

constexpr char kMark[] = "reprise/interrupted";

}  // namespace

absl::Status InterruptedError(absl::string_view message) {
  absl::Status status = absl::UnavailableError(message);
  status.SetPayload(kMark, absl::Cord());
  return status;
}

bool IsInterrupted(const absl::Status& status) { return status.GetPayload(kMark).has_value(); }

}  // namespace reprise
