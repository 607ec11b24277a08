#include "core/parallel/team.h"

#include <algorithm>

#include "core/parallel/activity.h"

namespace reprise {

int Team::threads() const {
  if (helpers_ != nullptr) return helpers_->Available();
  return pool_ == nullptr ? 1 : pool_->threads();
}

bool Team::is_alone() const {
  if (helpers_ != nullptr) return helpers_->workers() == 1;
  return pool_ == nullptr || pool_->threads() == 1;
}

void Team::ForEach(int64_t count, const std::function<void(int64_t, int)>& work) const {
  if (pool_ != nullptr && count > 1) return pool_->ForEach(count, work);
  if (helpers_ != nullptr && count > 1) return helpers_->ForEach(worker_, count, work);
  for (int64_t index = 0; index < count; ++index) work(index, worker_);
  MarkActivity();
}

void Team::ForRanges(int64_t count, int64_t least, const std::function<void(int64_t, int64_t)>& work) const {
  if (count <= 0) return;
  const int64_t ranges = std::clamp<int64_t>(count / least, 1, threads());
  ForEach(ranges, [&](int64_t index, int) { work(count * index / ranges, count * (index + 1) / ranges); });
}

}  // namespace reprise
