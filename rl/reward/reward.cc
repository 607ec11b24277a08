#include "rl/reward/reward.h"

#include <algorithm>

#include "core/config/unknown_name.h"
#include "core/status/check.h"

namespace reprise::rl {
namespace {

struct NamedReward {
  absl::string_view name;
  RewardFunction function;
};

constexpr NamedReward kRewards[] = {{"exact_match", ExactMatch}, {"character_match", CharacterMatch}};

}  // namespace

double ExactMatch(const Completion& completion) {
  return completion.terminated && completion.text == completion.answer ? 1.0 : 0.0;
}

double CharacterMatch(const Completion& completion) {
  const size_t longer = std::max(completion.text.size(), completion.answer.size());
  if (longer == 0) return 1.0;
  size_t agree = 0;
  for (size_t i = 0; i < std::min(completion.text.size(), completion.answer.size()); ++i) {
    agree += completion.text[i] == completion.answer[i] ? 1 : 0;
  }
  return static_cast<double>(agree) / static_cast<double>(longer);
}

std::vector<absl::string_view> RewardNames() {
  std::vector<absl::string_view> names;
  for (const NamedReward& reward : kRewards) names.push_back(reward.name);
  return names;
}

absl::StatusOr<RewardFunction> FindReward(absl::string_view name) {
  for (const NamedReward& reward : kRewards) {
    if (reward.name == name) return reward.function;
  }
  return UnknownName("reward", name, RewardNames());
}

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
