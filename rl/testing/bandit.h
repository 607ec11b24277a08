#ifndef RL_TESTING_BANDIT_H_
#define RL_TESTING_BANDIT_H_

// A game so small that every group of episodes can be enumerated: an algorithm's expected gradient and its variance are
// then finite sums and not estimates. An episode is one or two actions; the policy is a softmax over a table of logits,
// one row for each state (0: the first action, 1 + a: after a).

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "rl/algorithm/algorithm.h"

namespace reprise::rl::testing {

// Logits by state and action; gradients have the same shape.
using Table = std::vector<double>;

struct Game {
  int64_t num_actions = 3;          // K
  int64_t depth = 2;                // actions of an episode, 1 or 2
  bool zero_stops = false;          // with depth 2: a first action 0 ends the episode, so that lengths differ
  std::vector<double> reward = {};  // by path, in the order of Paths()

  int64_t num_states() const { return depth == 1 ? 1 : 1 + num_actions; }
};

struct Path {
  std::vector<int64_t> state_T, action_T;
  double reward = 0.0;
};

// Returns every path, in the order of its actions.
std::vector<Path> Paths(const Game& game);

// Return a game with rewards in [low, high) and a policy with logits in [-1, 1), drawn by seed.
Game RandomGame(uint64_t seed, int64_t depth, bool zero_stops, double low, double high);
Table RandomPolicy(uint64_t seed, const Game& game);

std::vector<double> LogProbs(const Game& game, const Table& policy, const Path& path);
double Probability(const Game& game, const Table& policy, const Path& path);
// gradient += weight * d log-prob of path's token t / d logits.
void AddScore(const Game& game, const Table& policy, const Path& path, size_t t, double weight, Table* gradient);

double ExpectedReward(const Game& game, const Table& policy);
// Returns d ExpectedReward / d logits.
Table PolicyGradient(const Game& game, const Table& policy);
// Returns the expected remaining reward of each state.
std::vector<double> TrueValues(const Game& game, const Table& policy);
// Return KL(policy || reference) of whole paths, and its gradient.
double PathDivergence(const Game& game, const Table& policy, const Table& reference);
Table PathDivergenceGradient(const Game& game, const Table& policy, const Table& reference);

// An algorithm's inputs besides the group of sampled paths.
struct Setting {
  Game game = {};
  Table policy = {};                 // in training
  Table sampler = {};                // gives the old log-probs; empty: on-policy
  Table reference = {};              // empty: none
  std::vector<double> value_S = {};  // for kValue
  double running_mean = 0.0;
  double optimal_value = 0.0;  // for kOptimal
};

// Returns the row's ascent direction, -d loss / d logits, for a group of paths (indices of Paths()), which is the whole
// batch.
Table RowGradient(const AlgorithmConfig& row, const Setting& setting, absl::Span<const size_t> group);

// The expectation of a function of a group of G paths, each drawn from `sampler`, and the trace of its covariance.
struct Moments {
  Table mean;
  double variance = 0.0;
};
Moments ExactMoments(const Game& game, const Table& sampler, int64_t group_size,
                     const std::function<Table(absl::Span<const size_t>)>& function);

// Returns the moments of RowGradient under the sampling policy of `setting`.
Moments RowMoments(const AlgorithmConfig& row, const Setting& setting, int64_t group_size);

double Norm(const Table& a);
double Dot(const Table& a, const Table& b);
// Returns the greatest absolute difference.
double Distance(const Table& a, const Table& b);
Table Scaled(const Table& a, double factor);

}  // namespace reprise::rl::testing

#endif  // RL_TESTING_BANDIT_H_
