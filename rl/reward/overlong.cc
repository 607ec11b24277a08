#include "rl/reward/overlong.h"

#include "core/status/check.h"

namespace reprise::rl {

double SoftOverlongPunishment(int64_t length, int64_t max_completion_length, int64_t soft_punish_cache) {
  CHECK_GE(length, 0);
  CHECK_GE(soft_punish_cache, 0);
  CHECK_GE(max_completion_length, soft_punish_cache);
  const int64_t free = max_completion_length - soft_punish_cache;
  if (length <= free) return 0.0;
  if (length > max_completion_length) return -1.0;
  return static_cast<double>(free - length) / static_cast<double>(soft_punish_cache);
}

double MissingEosPenalty(bool truncated, double penalty) { return truncated ? -penalty : 0.0; }

}  // namespace reprise::rl
