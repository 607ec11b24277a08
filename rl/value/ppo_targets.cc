#include "rl/value/ppo_targets.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/status/check.h"
#include "rl/advantage/statistics.h"
#include "rl/advantage/token_rewards.h"

namespace reprise::rl {
namespace {

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

std::vector<double> RewardsOf(const ValuedTokens& episode, double kl_coef) {
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

// The targets of a turn are those of its first token, when its rewards are earned there and its other tokens masked.
Gae TargetsOfTurns(const ValuedTokens& episode, const std::vector<double>& reward_T, const GaeOptions& options) {
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
  Gae gae = TargetsOfSteps(firsts, earned_T, options);
  for (size_t t = 0; t < reward_T.size(); ++t) {
    gae.advantage_T[t] = gae.advantage_T[first_T[t]];
    gae.return_T[t] = gae.return_T[first_T[t]];
  }
  return gae;
}

// Applies `whiten` to the numbers of all unmasked tokens, in place.
void Whiten(absl::Span<const ValuedTokens> episode_N, std::vector<double> (*whiten)(absl::Span<const double>),
            std::vector<std::vector<double>>* number_NT) {
  std::vector<double> numbers;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    for (size_t t = 0; t < (*number_NT)[n].size(); ++t) {
      if (Counts(episode_N[n], t)) numbers.push_back((*number_NT)[n][t]);
    }
  }
  numbers = whiten(numbers);
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
  std::vector<std::vector<double>> reward_NT;
  for (const ValuedTokens& episode : episode_N) reward_NT.push_back(RewardsOf(episode, options.kl_coef));
  if (options.whiten_rewards) Whiten(episode_N, ScaleTokens, &reward_NT);
  PpoTargets targets;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    Gae gae = episode_N[n].turn_T.empty() ? TargetsOfSteps(episode_N[n], reward_NT[n], options.gae)
                                          : TargetsOfTurns(episode_N[n], reward_NT[n], options.gae);
    targets.advantage_NT.push_back(std::move(gae.advantage_T));
    targets.return_NT.push_back(std::move(gae.return_T));
  }
  if (!options.whiten_advantages) return targets;
  Whiten(episode_N, WhitenTokens, &targets.advantage_NT);
  for (size_t n = 0; n < episode_N.size(); ++n) {
    std::vector<double>& advantage_T = targets.advantage_NT[n];
    if (!episode_N[n].learned) std::fill(advantage_T.begin(), advantage_T.end(), 0.0);
  }
  return targets;
}

}  // namespace reprise::rl
