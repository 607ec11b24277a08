#include "rl/reward/reward.h"

#include <algorithm>

#include "core/config/unknown_name.h"

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

}  // namespace reprise::rl
