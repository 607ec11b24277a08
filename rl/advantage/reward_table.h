#ifndef RL_ADVANTAGE_REWARD_TABLE_H_
#define RL_ADVANTAGE_REWARD_TABLE_H_

// The rewards of one batch: N = P * G samples (the G generations of a prompt are neighbours) times F reward functions;
// their sums and, of several functions, their advantages.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/advantage/group_relative.h"

namespace reprise::rl {

struct RewardTable {
  absl::Span<const double> rewards_NF = {};  // NaN: this function could not score this sample
  absl::Span<const double> weights_F = {};
  int64_t num_generations = 1;  // G, divides N

  int64_t num_functions() const { return static_cast<int64_t>(weights_F.size()); }
  int64_t num_samples() const { return static_cast<int64_t>(rewards_NF.size()) / num_functions(); }
};

// Fails a CHECK unless F >= 1, G >= 1, F divides the table and G divides N.
void CheckRewardTable(const RewardTable& table);

// The rewards of one function, by sample.
std::vector<double> FunctionRewards(const RewardTable& table, int64_t function);

// Returns the sum over functions of weight * reward, in ascending order of functions, skipping unscorable ones; NaN for
// a sample that no function with a weight other than 0 could score.
std::vector<double> WeightedRewards(const RewardTable& table);

// Advantages of several rewards, each normalised before they are added, so that no reward dominates another
// (TRL's multi_objective_aggregation = "normalize_then_sum"):
//   Z_if = (R_if - mean of its group) / (deviation of its group + epsilon),   S_i = sum_f w_f Z_if,
//   A_i = (S_i - mean of S over the batch) / (deviation of S over the batch + epsilon).
// Departures: Z_if is exactly 0 where function f gave the whole group one score, and a group in which every function
// did so has advantage exactly 0.
//
// Returns one advantage per sample; 0 for a sample that no function could score. Pure.
std::vector<double> NormalizeThenSumAdvantages(const RewardTable& table, double epsilon = kAdvantageEpsilon);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_REWARD_TABLE_H_
