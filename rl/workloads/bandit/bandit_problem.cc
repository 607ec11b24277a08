#include "rl/workloads/bandit/bandit_problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/math/scalar_math.h"

namespace reprise::rl {

double BanditWorld::Normal(Purpose purpose, DrawAt at, uint64_t index) const {
  at.token = 2 * index;
  const double first = DrawUniform(seed_, purpose, at);
  at.token = 2 * index + 1;
  return kernels::NormalDeviate(first, DrawUniform(seed_, purpose, at));
}

BanditWorld::BanditWorld(const BanditConfig& config, uint64_t seed) : config_(config), seed_(seed) {
  weight_AF_.reserve(static_cast<size_t>(config.actions * config.features));
  for (int64_t i = 0; i < config.actions * config.features; ++i) {
    weight_AF_.push_back(Normal(kBanditRewards, {}, static_cast<uint64_t>(i)));
  }
}

BanditProblem BanditWorld::ProblemAt(Purpose purpose, uint64_t step, uint64_t prompt) const {
  const size_t features = static_cast<size_t>(config_.features), actions = static_cast<size_t>(config_.actions);
  const DrawAt at = {.step = step, .prompt = prompt};
  BanditProblem problem;
  problem.step = step;
  problem.feature_F.reserve(features);
  for (size_t f = 0; f < features; ++f) problem.feature_F.push_back(static_cast<float>(Normal(purpose, at, f)));
  // The actions in a random order; the last of them are not allowed.
  std::vector<double> rank_A;
  for (size_t a = 0; a < actions; ++a) {
    rank_A.push_back(DrawUniform(seed_, purpose, {.step = step, .prompt = prompt, .turn = 1, .token = a}));
  }
  std::vector<size_t> order(actions);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank_A[a] < rank_A[b]; });
  const double kept = std::floor(static_cast<double>(actions) * (1 - config_.masked_share) + 0.5);
  order.resize(std::max<size_t>(2, static_cast<size_t>(kept)));
  problem.allowed_A.assign(actions, 0);
  problem.reward_A.assign(actions, 0);
  double least = 0, most = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t a = order[i];
    double sum = 0;
    for (size_t f = 0; f < features; ++f) {
      sum = std::fma(weight_AF_[a * features + f], static_cast<double>(problem.feature_F[f]), sum);
    }
    problem.allowed_A[a] = 1;
    problem.reward_A[a] = sum;
    least = i == 0 ? sum : std::min(least, sum);
    most = i == 0 ? sum : std::max(most, sum);
  }
  for (const size_t a : order) {
    problem.reward_A[a] = most > least ? (problem.reward_A[a] - least) / (most - least) : 1.0;
  }
  const auto best = std::find(problem.reward_A.begin(), problem.reward_A.end(), 1.0);
  problem.best = static_cast<int32_t>(best - problem.reward_A.begin());
  return problem;
}

double BanditWorld::NoiseAt(uint64_t step, uint64_t prompt, uint64_t sample) const {
  if (config_.noise == 0) return 0;
  return config_.noise * Normal(Purpose::kEnvironment, {.step = step, .prompt = prompt, .sample = sample}, 0);
}

}  // namespace reprise::rl
