#include "rl/testing/bandit.h"

#include <algorithm>
#include <cmath>

#include "core/random/draw.h"

namespace reprise::rl::testing {
namespace {

double Uniform(uint64_t seed, uint64_t what, size_t i) {
  return DrawUniform(seed, Purpose::kTest, {.turn = what, .token = i});
}

double LogProb(const Game& game, const Table& policy, int64_t state, int64_t action) {
  const double* logit_K = policy.data() + state * game.num_actions;
  double sum = 0.0;
  for (int64_t a = 0; a < game.num_actions; ++a) sum += std::exp(logit_K[a]);
  return logit_K[action] - std::log(sum);
}

// Calls visit(path, probability) for every path.
template <typename Visit>
void ForEachPath(const Game& game, const Table& policy, Visit visit) {
  for (const Path& path : Paths(game)) visit(path, Probability(game, policy, path));
}

// Returns the expectation of `of(path)` times the path's score.
template <typename Of>
Table ScoreExpectation(const Game& game, const Table& policy, Of of) {
  Table gradient(policy.size(), 0.0);
  ForEachPath(game, policy, [&](const Path& path, double probability) {
    for (size_t t = 0; t < path.action_T.size(); ++t) {
      AddScore(game, policy, path, t, probability * of(path), &gradient);
    }
  });
  return gradient;
}

double LogRatio(const Game& game, const Table& policy, const Table& reference, const Path& path) {
  double sum = 0.0;
  for (double logprob : LogProbs(game, policy, path)) sum += logprob;
  for (double logprob : LogProbs(game, reference, path)) sum -= logprob;
  return sum;
}

}  // namespace

std::vector<Path> Paths(const Game& game) {
  std::vector<Path> paths;
  for (int64_t a = 0; a < game.num_actions; ++a) {
    if (game.depth == 1 || (game.zero_stops && a == 0)) {
      paths.push_back({{0}, {a}, 0.0});
      continue;
    }
    for (int64_t b = 0; b < game.num_actions; ++b) paths.push_back({{0, 1 + a}, {a, b}, 0.0});
  }
  for (size_t p = 0; p < paths.size() && p < game.reward.size(); ++p) paths[p].reward = game.reward[p];
  return paths;
}

Game RandomGame(uint64_t seed, int64_t depth, bool zero_stops, double low, double high) {
  Game game = {.depth = depth, .zero_stops = zero_stops};
  for (size_t p = 0; p < Paths(game).size(); ++p) game.reward.push_back(low + (high - low) * Uniform(seed, 0, p));
  return game;
}

Table RandomPolicy(uint64_t seed, const Game& game) {
  Table policy;
  for (int64_t i = 0; i < game.num_states() * game.num_actions; ++i) {
    policy.push_back(2.0 * Uniform(seed, 1, static_cast<size_t>(i)) - 1.0);
  }
  return policy;
}

std::vector<double> LogProbs(const Game& game, const Table& policy, const Path& path) {
  std::vector<double> logprob_T;
  for (size_t t = 0; t < path.action_T.size(); ++t) {
    logprob_T.push_back(LogProb(game, policy, path.state_T[t], path.action_T[t]));
  }
  return logprob_T;
}

double Probability(const Game& game, const Table& policy, const Path& path) {
  double sum = 0.0;
  for (double logprob : LogProbs(game, policy, path)) sum += logprob;
  return std::exp(sum);
}

void AddScore(const Game& game, const Table& policy, const Path& path, size_t t, double weight, Table* gradient) {
  for (int64_t a = 0; a < game.num_actions; ++a) {
    const double indicator = a == path.action_T[t] ? 1.0 : 0.0;
    (*gradient)[path.state_T[t] * game.num_actions + a] +=
        weight * (indicator - std::exp(LogProb(game, policy, path.state_T[t], a)));
  }
}

double ExpectedReward(const Game& game, const Table& policy) {
  double sum = 0.0;
  ForEachPath(game, policy, [&](const Path& path, double probability) { sum += probability * path.reward; });
  return sum;
}

Table PolicyGradient(const Game& game, const Table& policy) {
  return ScoreExpectation(game, policy, [](const Path& path) { return path.reward; });
}

std::vector<double> TrueValues(const Game& game, const Table& policy) {
  std::vector<double> value_S(static_cast<size_t>(game.num_states()), 0.0);
  value_S[0] = ExpectedReward(game, policy);
  for (const Path& path : Paths(game)) {
    if (path.action_T.size() < 2) continue;
    const double probability = std::exp(LogProb(game, policy, path.state_T[1], path.action_T[1]));
    value_S[path.state_T[1]] += probability * path.reward;
  }
  return value_S;
}

double PathDivergence(const Game& game, const Table& policy, const Table& reference) {
  double sum = 0.0;
  ForEachPath(game, policy, [&](const Path& path, double probability) {
    sum += probability * LogRatio(game, policy, reference, path);
  });
  return sum;
}

Table PathDivergenceGradient(const Game& game, const Table& policy, const Table& reference) {
  return ScoreExpectation(game, policy, [&](const Path& path) { return LogRatio(game, policy, reference, path); });
}

Moments ExactMoments(const Game& game, const Table& sampler, int64_t group_size,
                     const std::function<Table(absl::Span<const size_t>)>& function) {
  const std::vector<Path> paths = Paths(game);
  std::vector<double> probability;
  for (const Path& path : paths) probability.push_back(Probability(game, sampler, path));
  Moments moments = {Table(sampler.size(), 0.0), 0.0};
  std::vector<size_t> group(static_cast<size_t>(group_size), 0);
  double square = 0.0;
  for (bool more = true; more;) {
    double weight = 1.0;
    for (size_t p : group) weight *= probability[p];
    const Table value = function(group);
    for (size_t i = 0; i < value.size(); ++i) moments.mean[i] += weight * value[i];
    square += weight * Dot(value, value);
    // The next group: a counter in base `paths`.
    size_t digit = 0;
    while (digit < group.size() && ++group[digit] == paths.size()) group[digit++] = 0;
    more = digit < group.size();
  }
  moments.variance = square - Dot(moments.mean, moments.mean);
  return moments;
}

Moments RowMoments(const AlgorithmConfig& row, const Setting& setting, int64_t group_size) {
  const Table& sampler = setting.sampler.empty() ? setting.policy : setting.sampler;
  return ExactMoments(setting.game, sampler, group_size,
                      [&](absl::Span<const size_t> group) { return RowGradient(row, setting, group); });
}

double Norm(const Table& a) { return std::sqrt(Dot(a, a)); }

double Dot(const Table& a, const Table& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double Distance(const Table& a, const Table& b) {
  double greatest = 0.0;
  for (size_t i = 0; i < a.size(); ++i) greatest = std::max(greatest, std::fabs(a[i] - b[i]));
  return greatest;
}

Table Scaled(const Table& a, double factor) {
  Table scaled = a;
  for (double& value : scaled) value *= factor;
  return scaled;
}

}  // namespace reprise::rl::testing
