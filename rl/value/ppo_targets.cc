#include "rl/value/ppo_targets.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"
#include "rl/advantage/statistics.h"
#include "rl/advantage/token_rewards.h"

namespace reprise::rl {
namespace {

constexpr double kLargestReward = 10;  // of scaled rewards

void CheckSizes(const Trajectory& trajectory) {
  const size_t T = trajectory.reward_T.size();
  CHECK_EQ(trajectory.value_T.size(), T);
  if (!trajectory.mask_T.empty()) CHECK_EQ(trajectory.mask_T.size(), T);
  if (!trajectory.end_T.empty()) CHECK_EQ(trajectory.end_T.size(), T);
  if (!trajectory.bootstrap_T.empty()) CHECK_EQ(trajectory.bootstrap_T.size(), T);
}

bool IsPolicys(const ValuedTokens& episode, size_t t) { return episode.mask_T.empty() || episode.mask_T[t] != 0; }

bool Counts(const ValuedTokens& episode, size_t t) {
  return episode.learned && !std::isnan(episode.score) && IsPolicys(episode, t);
}

std::vector<double> ShapeRewards(const ValuedTokens& episode, double kl_coef) {
  const int64_t T = static_cast<int64_t>(episode.value_T.size());
  if (std::isnan(episode.score)) return std::vector<double>(episode.value_T.size(), 0.0);
  return TokenRewards(T, episode.score, episode.kl_T, episode.mask_T, kl_coef, episode.earned_T);
}

Gae TargetsOfSteps(const ValuedTokens& episode, const std::vector<double>& reward_T, const GaeOptions& options) {
  const size_t T = episode.value_T.size();
  if (std::isnan(episode.score)) {
    Gae nothing = {std::vector<double>(T, 0.0), std::vector<double>(T, 0.0)};
    for (size_t t = 0; t < T; ++t) nothing.return_T[t] = IsPolicys(episode, t) ? episode.value_T[t] : 0.0;
    return nothing;
  }
  std::vector<StepEnd> end_T(T, StepEnd::kContinues);
  std::vector<double> bootstrap_T(T, 0.0);
  size_t tokens = T;  // up to the policy's last token
  while (tokens > 0 && !IsPolicys(episode, tokens - 1)) --tokens;
  if (tokens > 0) {
    end_T[tokens - 1] = episode.bootstrap ? StepEnd::kTruncated : StepEnd::kTerminated;
    bootstrap_T[tokens - 1] = episode.bootstrap.value_or(0.0);
  }
  return GeneralizedAdvantages({.reward_T = reward_T,
                                .value_T = episode.value_T,
                                .mask_T = episode.mask_T,
                                .end_T = end_T,
                                .bootstrap_T = bootstrap_T},
                               options);
}

// Returns for each token the first unmasked one of its turn: itself where tokens are the steps, and at masked tokens.
std::vector<size_t> FirstOfTurn(const ValuedTokens& episode) {
  std::vector<size_t> first_T(episode.value_T.size());
  size_t first = 0;
  bool is_open = false;  // whether `first` is of the turn of t
  for (size_t t = 0; t < first_T.size(); ++t) {
    if (episode.turn_T.empty() || (t > 0 && episode.turn_T[t] != episode.turn_T[t - 1])) is_open = false;
    if (IsPolicys(episode, t) && !is_open) first = t, is_open = true;
    first_T[t] = IsPolicys(episode, t) ? first : t;
  }
  return first_T;
}

// Returns the values of the episode, with those of turns without a learned token (mask_T 0 at the token that stands for
// it) as if their temporal-difference errors were 0.
std::vector<double> ValuesOfTurns(const ValuedTokens& firsts, absl::Span<const uint8_t> mask_T,
                                  const std::vector<double>& reward_T, double gamma) {
  std::vector<double> value_T(firsts.value_T.begin(), firsts.value_T.end());
  double next_value = firsts.bootstrap.value_or(0.0);
  for (size_t t = value_T.size(); t-- > 0;) {
    if (!IsPolicys(firsts, t)) continue;
    if (!mask_T.empty() && mask_T[t] == 0) value_T[t] = reward_T[t] + gamma * next_value;
    next_value = value_T[t];
  }
  return value_T;
}

// The targets of a turn are those of its first token, when its rewards are earned there and its other tokens masked.
// episode: with MaskWithAllTurns(mask_T, turns) for its mask.
Gae TargetsOfTurns(const ValuedTokens& episode, absl::Span<const uint8_t> mask_T, const std::vector<double>& reward_T,
                   const GaeOptions& options) {
  CHECK_EQ(episode.turn_T.size(), episode.value_T.size());
  const std::vector<size_t> first_T = FirstOfTurn(episode);
  std::vector<double> earned_T(reward_T.size(), 0.0);
  std::vector<uint8_t> is_first_T(reward_T.size(), 0);
  for (size_t t = 0; t < reward_T.size(); ++t) {
    if (!IsPolicys(episode, t)) continue;
    earned_T[first_T[t]] += reward_T[t];
    is_first_T[first_T[t]] = 1;
  }
  ValuedTokens firsts = episode;
  firsts.mask_T = is_first_T;
  const std::vector<double> value_T = ValuesOfTurns(firsts, mask_T, earned_T, options.gamma);
  firsts.value_T = value_T;
  Gae gae = TargetsOfSteps(firsts, earned_T, options);
  for (size_t t = 0; t < reward_T.size(); ++t) {
    const bool is_learned = mask_T.empty() || mask_T[t] != 0;
    gae.advantage_T[t] = is_learned ? gae.advantage_T[first_T[t]] : 0.0;
    gae.return_T[t] = is_learned ? gae.return_T[first_T[t]] : 0.0;
  }
  return gae;
}

std::vector<double> Counted(absl::Span<const ValuedTokens> episode_N,
                            const std::vector<std::vector<double>>& number_NT) {
  std::vector<double> numbers;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    for (size_t t = 0; t < number_NT[n].size(); ++t) {
      if (Counts(episode_N[n], t)) numbers.push_back(number_NT[n][t]);
    }
  }
  return numbers;
}

// Divides the rewards by the deviation of a population, and clips them.
void Scale(const kernels::Moments& population, std::vector<std::vector<double>>* reward_NT) {
  if (population.squares == 0) return;
  const double deviation = kernels::Sqrt(population.Variance(0) + kWhitenVarianceEpsilon);
  for (std::vector<double>& reward_T : *reward_NT) {
    for (double& reward : reward_T) reward = std::clamp(reward / deviation, -kLargestReward, kLargestReward);
  }
}

// Applies `whiten` to the numbers of all unmasked tokens, in place.
void Whiten(absl::Span<const ValuedTokens> episode_N, std::vector<double> (*whiten)(absl::Span<const double>),
            std::vector<std::vector<double>>* number_NT) {
  const std::vector<double> numbers = whiten(Counted(episode_N, *number_NT));
  size_t next = 0;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    for (size_t t = 0; t < (*number_NT)[n].size(); ++t) {
      if (Counts(episode_N[n], t)) (*number_NT)[n][t] = numbers[next++];
    }
  }
}

}  // namespace

Gae GeneralizedAdvantages(const Trajectory& trajectory, const GaeOptions& options) {
  CheckSizes(trajectory);
  const size_t T = trajectory.reward_T.size();
  Gae gae = {std::vector<double>(T, 0.0), std::vector<double>(T, 0.0)};
  double next_value = 0.0, carried = 0.0;
  for (size_t t = T; t-- > 0;) {
    if (!trajectory.mask_T.empty() && trajectory.mask_T[t] == 0) continue;
    const StepEnd end = trajectory.end_T.empty() ? StepEnd::kContinues : trajectory.end_T[t];
    if (end != StepEnd::kContinues) carried = next_value = 0.0;
    if (end == StepEnd::kTruncated) {
      CHECK_EQ(trajectory.bootstrap_T.size(), T);
      next_value = trajectory.bootstrap_T[t];
    }
    const double value = trajectory.value_T[t];
    const double delta = trajectory.reward_T[t] + options.gamma * next_value - value;
    carried = delta + options.gamma * options.lambda * carried;
    gae.advantage_T[t] = carried;
    gae.return_T[t] = carried + value;
    next_value = value;
  }
  return gae;
}

PpoTargets MakePpoTargets(absl::Span<const ValuedTokens> episode_N, const PpoTargetOptions& options) {
  // With a token of every turn unmasked where turns are steps: it has the turn's reward.
  std::vector<std::vector<uint8_t>> mask_NT(episode_N.size());
  std::vector<ValuedTokens> rewarded_N(episode_N.begin(), episode_N.end());
  std::vector<std::vector<double>> reward_NT;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    if (!episode_N[n].turn_T.empty()) {
      mask_NT[n] = MaskWithAllTurns(episode_N[n].mask_T, episode_N[n].turn_T);
      rewarded_N[n].mask_T = mask_NT[n];
    }
    reward_NT.push_back(ShapeRewards(rewarded_N[n], options.kl_coef));
  }
  PpoTargets targets;
  if (options.earlier_rewards) {
    targets.rewards = kernels::Merge(*options.earlier_rewards, kernels::MomentsOf(Counted(rewarded_N, reward_NT)));
    Scale(targets.rewards, &reward_NT);
  }
  if (options.whiten_rewards) Whiten(rewarded_N, ScaleTokens, &reward_NT);
  for (size_t n = 0; n < episode_N.size(); ++n) {
    Gae gae = episode_N[n].turn_T.empty()
                  ? TargetsOfSteps(episode_N[n], reward_NT[n], options.gae)
                  : TargetsOfTurns(rewarded_N[n], episode_N[n].mask_T, reward_NT[n], options.gae);
    targets.advantage_NT.push_back(std::move(gae.advantage_T));
    targets.return_NT.push_back(std::move(gae.return_T));
  }
  targets.advantages = kernels::MomentsOf(Counted(episode_N, targets.advantage_NT));
  if (!options.whiten_advantages) return targets;
  Whiten(episode_N, WhitenTokens, &targets.advantage_NT);
  for (size_t n = 0; n < episode_N.size(); ++n) {
    std::vector<double>& advantage_T = targets.advantage_NT[n];
    if (!episode_N[n].learned) std::fill(advantage_T.begin(), advantage_T.end(), 0.0);
  }
  return targets;
}

}  // namespace reprise::rl
