// The rows of docs/algorithms.md (algorithm.h).

#include <map>
#include <string>
#include <utility>

#include "tests/reference/algorithm.h"

namespace reprise::reference {
namespace {

Row NamedRow(const std::string& name) {
  std::map<std::string, Row> table;
  table["grpo"] = {};
  table["dapo"] = {.epsilon_high = 0.28};
  table["dr_grpo"] = {.scale_rewards = "none", .aggregation = "dr_grpo"};
  table["bnpo"] = {.aggregation = "bnpo"};
  table["gspo"] = {.level = "sequence", .aggregation = "grpo", .epsilon = 3e-4, .epsilon_high = 4e-4};
  table["cispo"] = {.clip = "cispo", .epsilon_high = 5};
  table["sapo"] = {.clip = "sapo", .aggregation = "grpo"};
  table["luspo"] = {.level = "sequence", .aggregation = "luspo", .epsilon = 2e-3, .epsilon_high = 2.5e-3};
  table["vespo"] = {.clip = "vespo"};
  table["gmpo"] = {
      .clip = "gmpo", .aggregation = "grpo", .epsilon = 0.4, .epsilon_high = 0.4, .use_bias_correction_kl = false};
  table["a2po"] = {.baseline = "optimal", .scale_rewards = "none", .clip = "regression", .aggregation = "grpo"};
  table["rloo"] = {.baseline = "leave_one_out",
                   .scale_rewards = "none",
                   .level = "sequence_sum",
                   .aggregation = "grpo",
                   .beta = 0.05,
                   .kl_in_reward = true};
  const Row plain = {.scale_rewards = "none", .clip = "reinforce", .aggregation = "luspo"};
  const std::pair<const char*, const char*> baselines[] = {
      {"episode_rloo", "leave_one_out"}, {"reinforce", "none"}, {"remax", "greedy"}, {"opo", "length_weighted"}};
  for (const auto& [row, baseline] : baselines) (table[row] = plain).baseline = baseline;
  table["reinforce_plus_plus"] = {
      .baseline = "none", .scale_rewards = "none", .beta = 0.01, .kl_in_reward = true, .whiten_tokens = true};
  table["reinforce_plus_plus_baseline"] = {
      .scale_rewards = "none", .kl_estimator = "k2", .use_bias_correction_kl = false, .whiten_tokens = true};
  table["ppo"] = {.baseline = "value",
                  .scale_rewards = "none",
                  .aggregation = "bnpo",
                  .beta = 0.05,
                  .kl_in_reward = true,
                  .whiten_tokens = true,
                  .num_iterations = 4};
  table["agemem"] = {.baseline = "step_group_mean",
                     .scale_rewards = "none",
                     .aggregation = "bnpo",
                     .kl_estimator = "exact",
                     .beta = 0.1,
                     .gamma = 0,
                     .use_bias_correction_kl = false,
                     .num_iterations = 4};
  return table.at(name);
}

void SetLossType(const std::string& type, Row* row) {
  row->clip = type == "cispo" || type == "sapo" || type == "vespo" ? type : "two_sided";
  row->aggregation = type == "cispo" || type == "vespo" ? "dapo" : type == "sapo" || type == "rloo" ? "grpo" : type;
  if (type == "cispo") row->epsilon_high = 5;
  if (type == "rloo") row->level = "sequence_sum", row->kl_in_reward = true;
}

}  // namespace

Row RowOf(const rl::AlgorithmConfig& a) {
  Row row = NamedRow(a.name);
  const bool is_raised = row.epsilon_high != row.epsilon;
  if (!a.loss_type.empty()) SetLossType(a.loss_type, &row);
  const auto choose = [](const std::string& value, std::string* choice) {
    if (!value.empty()) *choice = value;
  };
  const auto turn = [](const std::string& value, bool* choice) {
    if (!value.empty()) *choice = value == "on";
  };
  choose(a.baseline, &row.baseline);
  choose(a.scale_rewards, &row.scale_rewards);
  choose(a.importance_sampling_level, &row.level);
  choose(a.clip, &row.clip);
  choose(a.aggregation, &row.aggregation);
  turn(a.kl_in_reward, &row.kl_in_reward);
  // In the reward the divergence is estimated by k1 unless kl_estimator is set.
  if (row.kl_in_reward) row.kl_estimator = "k1";
  choose(a.kl_estimator, &row.kl_estimator);
  turn(a.use_bias_correction_kl, &row.use_bias_correction_kl);
  turn(a.whiten_tokens, &row.whiten_tokens);
  if (row.whiten_tokens) row.scale_rewards = "none";
  if (a.epsilon != -1) row.epsilon = a.epsilon;
  if (a.epsilon != -1 && !is_raised) row.epsilon_high = a.epsilon;
  if (a.epsilon_high != -1) row.epsilon_high = a.epsilon_high;
  if (a.beta != -1) row.beta = a.beta;
  if (a.gamma != -1) row.gamma = a.gamma;
  if (a.num_iterations > 0) row.num_iterations = a.num_iterations;
  return row;
}

}  // namespace reprise::reference
