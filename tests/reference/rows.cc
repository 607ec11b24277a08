// The rows of docs/algorithms.md (algorithm.h).

#include <map>
#include <string>
#include <utility>
#include <variant>

#include "core/config/field_list.h"
#include "rl/config/config.h"
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

}  // namespace

Row PageRow(const std::string& name) {
  Row row = NamedRow(name);
  // In the reward the divergence is estimated by k1 unless kl_estimator is set.
  if (row.kl_in_reward) row.kl_estimator = "k1";
  if (row.whiten_tokens) row.scale_rewards = "none";
  return row;
}

Row RowOf(const rl::AlgorithmConfig& algorithm) {
  rl::Config config;
  config.algorithm = algorithm;
  config::FieldList keys;
  rl::Visit(keys, config);
  const auto text = [&](const char* key) { return std::get<std::string>(keys.Find("algorithm", key)->Get()); };
  const auto number = [&](const char* key) { return std::get<double>(keys.Find("algorithm", key)->Get()); };
  const auto truth = [&](const char* key) { return std::get<bool>(keys.Find("algorithm", key)->Get()); };
  Row row = {.baseline = text("baseline"),
             .scale_rewards = text("scale_rewards"),
             .level = text("importance_sampling_level"),
             .clip = text("clip"),
             .aggregation = text("aggregation"),
             .kl_estimator = text("kl_estimator"),
             .epsilon = number("epsilon"),
             .epsilon_high = number("epsilon_high"),
             .beta = number("beta"),
             .gamma = number("gamma"),
             .kl_in_reward = truth("kl_in_reward"),
             .use_bias_correction_kl = truth("use_bias_correction_kl"),
             .whiten_tokens = truth("whiten_tokens"),
             .num_iterations = std::get<int64_t>(keys.Find("algorithm", "num_iterations")->Get())};
  if (row.whiten_tokens) row.scale_rewards = "none";
  return row;
}

}  // namespace reprise::reference
