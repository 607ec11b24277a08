#include "rl/advantage/step_group.h"

#include <cmath>
#include <limits>
#include <map>

#include "core/status/check.h"
#include "rl/advantage/leave_one_out.h"

namespace reprise::rl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The steps of one episode, ascending: which they are, and the return of each.
struct Steps {
  std::vector<int64_t> step_K;
  std::vector<double> return_K;
  std::vector<int64_t> place_T;  // index in step_K of each token's step; -1 at masked tokens
};

Steps StepsOf(const ScoredTokens& episode, const StepGroupOptions& options) {
  const bool has_turns = !episode.turn_T.empty();
  if (has_turns) CHECK_EQ(static_cast<int64_t>(episode.turn_T.size()), episode.num_tokens);
  const std::vector<uint8_t> of_turns_T =
      has_turns ? MaskWithAllTurns(episode.mask_T, episode.turn_T) : std::vector<uint8_t>();
  const absl::Span<const uint8_t> mask_T = has_turns ? absl::MakeConstSpan(of_turns_T) : episode.mask_T;
  const std::vector<double> reward_T =
      TokenRewards(episode.num_tokens, episode.score, episode.kl_T, mask_T, options.beta, episode.earned_T);
  Steps steps;
  std::vector<double> reward_K;
  for (size_t t = 0; t < reward_T.size(); ++t) {
    if (!mask_T.empty() && mask_T[t] == 0) {
      steps.place_T.push_back(-1);
      continue;
    }
    const int64_t step = has_turns ? episode.turn_T[t] : static_cast<int64_t>(t);
    if (steps.step_K.empty() || steps.step_K.back() != step) {
      steps.step_K.push_back(step);
      reward_K.push_back(0.0);
    }
    reward_K.back() += reward_T[t];
    const bool is_learned = episode.mask_T.empty() || episode.mask_T[t] != 0;
    steps.place_T.push_back(is_learned ? static_cast<int64_t>(steps.step_K.size()) - 1 : -1);
  }
  steps.return_K = DiscountedReturns(reward_K, {}, options.gamma);
  return steps;
}

// Returns the advantages of a group's episodes in one step; return_G: NaN where an episode does not have it.
std::vector<double> Compare(const std::vector<double>& return_G, const StepGroupOptions& options) {
  const int64_t generations = static_cast<int64_t>(return_G.size());
  if (!options.compares) {
    std::vector<double> own_G = return_G;
    for (double& own : own_G) own = std::isnan(own) ? 0.0 : own;
    return own_G;
  }
  if (options.leaves_one_out) return LeaveOneOutAdvantages(return_G, generations, /*normalize=*/false);
  Normalization normalization = options.normalization;
  normalization.lone_sample_keeps_reward = false;
  return GroupRelativeAdvantages(return_G, generations, options.scale, normalization);
}

}  // namespace

std::vector<std::vector<double>> StepGroupAdvantages(absl::Span<const ScoredTokens> episode_N, int64_t num_generations,
                                                     const StepGroupOptions& options) {
  CHECK_GE(num_generations, 1);
  CHECK_EQ(static_cast<int64_t>(episode_N.size()) % num_generations, 0);
  CHECK(options.scale != ScaleRewards::kBatch);
  std::vector<std::vector<double>> advantage_NT;
  for (size_t begin = 0; begin < episode_N.size(); begin += static_cast<size_t>(num_generations)) {
    std::vector<Steps> steps_G;
    std::map<int64_t, std::vector<double>> return_of_step_G;
    for (size_t g = 0; g < static_cast<size_t>(num_generations); ++g) {
      const Steps& steps = steps_G.emplace_back(StepsOf(episode_N[begin + g], options));
      for (size_t k = 0; k < steps.step_K.size(); ++k) {
        std::vector<double>& return_G = return_of_step_G[steps.step_K[k]];
        return_G.resize(static_cast<size_t>(num_generations), kNan);
        return_G[g] = std::isnan(episode_N[begin + g].score) ? kNan : steps.return_K[k];
      }
    }
    for (auto& [step, return_G] : return_of_step_G) return_G = Compare(return_G, options);
    for (size_t g = 0; g < steps_G.size(); ++g) {
      const Steps& steps = steps_G[g];
      std::vector<double>& advantage_T = advantage_NT.emplace_back(steps.place_T.size(), 0.0);
      for (size_t t = 0; t < advantage_T.size(); ++t) {
        if (steps.place_T[t] < 0) continue;
        advantage_T[t] = return_of_step_G[steps.step_K[steps.place_T[t]]][g];
      }
    }
  }
  return advantage_NT;
}

}  // namespace reprise::rl
