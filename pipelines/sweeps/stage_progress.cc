#include "pipelines/sweeps/stage_progress.h"

#include "pipelines/program/program.h"

namespace reprise {
namespace {

constexpr int64_t kFew = 1000;

}  // namespace

void StageProgress::Update(absl::string_view what, int64_t done, int64_t all) {
  if (all <= kFew) return;
  if (what != what_) {
    what_ = std::string(what);
    progress_.emplace(ProgressOptions{.steps = all, .unit = what_}, logger_, Seconds);
  }
  progress_->Update(done, detail_);
}

}  // namespace reprise
