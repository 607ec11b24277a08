// Compares with every case of ppo_gae.json: token rewards, advantages, returns, both losses and all gradients of PPO.

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/sums/sums.h"
#include "rl/advantage/token_rewards.h"
#include "rl/loss/policy_loss.h"
#include "rl/testing/golden_json.h"
#include "rl/value/ppo_targets.h"
#include "rl/value/value_loss.h"

namespace reprise::rl {
namespace {

using Json = nlohmann::json;
using testing::ExpectGolden;
using testing::Row;
using testing::Rows;

// One case's inputs by sample.
struct Case {
  explicit Case(const Json& c)
      : value_NT(Rows(c["values"])),
        old_NT(Rows(c["old_logps"])),
        new_NT(Rows(c["new_logps"])),
        new_value_NT(Rows(c["new_values"])),
        score_N(Row(c["scores"])) {
    for (const std::vector<double>& row : Rows(c["mask"])) {
      mask_NT.emplace_back(row.begin(), row.end());
      for (double m : row) num_tokens += m;
    }
    const std::vector<std::vector<double>> ref_NT = Rows(c["ref_logps"]);
    for (size_t n = 0; n < old_NT.size(); ++n) kl_NT.push_back(TokenDivergences(old_NT[n], ref_NT[n], mask_NT[n]));
  }

  std::vector<std::vector<double>> value_NT, old_NT, new_NT, new_value_NT, kl_NT;
  std::vector<std::vector<uint8_t>> mask_NT;
  std::vector<double> score_N;
  double num_tokens = 0.0;
};

void ExpectRows(const std::vector<std::vector<double>>& actual_NT, const Json& golden, const std::string& what) {
  const std::vector<std::vector<double>> golden_NT = Rows(golden);
  ASSERT_EQ(actual_NT.size(), golden_NT.size());
  for (size_t n = 0; n < golden_NT.size(); ++n) {
    for (size_t t = 0; t < golden_NT[n].size(); ++t) {
      ExpectGolden(actual_NT[n][t], golden_NT[n][t], what + " " + std::to_string(n) + "," + std::to_string(t));
    }
  }
}

PpoTargets ComputeTargets(const Json& c, const Case& in, bool whiten) {
  std::vector<ValuedTokens> episode_N;
  for (size_t n = 0; n < in.score_N.size(); ++n) {
    episode_N.push_back({in.score_N[n], in.value_NT[n], in.kl_NT[n], in.mask_NT[n]});
  }
  return MakePpoTargets(episode_N, {{c["gamma"], c["lam"]}, c["kl_coef"], whiten});
}

void ExpectTargets(const Json& c, const Case& in) {
  const Json& expect = c["expect"];
  std::vector<std::vector<double>> reward_NT;
  for (size_t n = 0; n < in.score_N.size(); ++n) {
    reward_NT.push_back(TokenRewards(static_cast<int64_t>(in.mask_NT[n].size()), in.score_N[n], in.kl_NT[n],
                                     in.mask_NT[n], c["kl_coef"]));
  }
  ExpectRows(reward_NT, expect["rewards"], "rewards");
  ExpectRows(ComputeTargets(c, in, false).advantage_NT, expect["gae_raw"], "gae_raw");
  const PpoTargets targets = ComputeTargets(c, in, c["whiten_advantages"]);
  ExpectRows(targets.advantage_NT, expect["advantages"], "advantages");
  ExpectRows(targets.return_NT, expect["returns"], "returns");
}

void ExpectLosses(const Json& c, const Case& in) {
  const Json& expect = c["expect"];
  const PpoTargets targets = ComputeTargets(c, in, c["whiten_advantages"]);
  const LossNormalizer normalizer = {.num_sequences = 3, .num_tokens = in.num_tokens, .mean_num_tokens = in.num_tokens};
  const LossOptions policy = {.loss_type = LossType::kBnpo, .epsilon = c["cliprange"], .epsilon_high = c["cliprange"]};
  const ValueLossOptions value = {c["cliprange_value"], c["vf_coef"]};
  std::vector<std::vector<double>> d_logprob_NT, d_value_NT;
  std::vector<double> policy_N, value_N;
  double clipped = 0.0;
  for (size_t n = 0; n < in.score_N.size(); ++n) {
    const SequenceLoss loss = PolicyLoss({.logprob_T = in.new_NT[n],
                                          .old_logprob_T = in.old_NT[n],
                                          .mask_T = in.mask_NT[n],
                                          .advantage_T = targets.advantage_NT[n]},
                                         policy, normalizer);
    policy_N.push_back(loss.loss);
    d_logprob_NT.push_back(loss.dloss_dlogprob_T);
    clipped += static_cast<double>(loss.metrics.low_clipped + loss.metrics.high_clipped);
    const ValueLoss critic =
        SequenceValueLoss({in.new_value_NT[n], in.value_NT[n], targets.return_NT[n], in.mask_NT[n]}, value, normalizer);
    value_N.push_back(critic.loss);
    d_value_NT.push_back(critic.dloss_dvalue_T);
  }
  const double policy_loss = kernels::TreeSum(policy_N), value_loss = kernels::TreeSum(value_N);
  ExpectGolden(policy_loss, expect["pg_loss"], "pg_loss");
  ExpectGolden(value_loss / value.vf_coef, expect["vf_loss"], "vf_loss");
  ExpectGolden(policy_loss + value_loss, expect["loss"], "loss");
  ExpectGolden(clipped / in.num_tokens, expect["clipfrac"], "clipfrac");
  ExpectRows(d_logprob_NT, expect["grad_new_logps"], "grad_new_logps");
  ExpectRows(d_value_NT, expect["grad_new_values"], "grad_new_values");
}

TEST(PpoGoldenTest, EqualsTheFormulasOnEveryCase) {
  const Json goldens = testing::ReadGoldenJson("ppo_gae.json");
  testing::CaseCount count("ppo_gae.json");
  for (const Json& c : goldens["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const Case in(c);
    ExpectTargets(c, in);
    ExpectLosses(c, in);
    count.Add(c["whiten_advantages"].get<bool>() ? "ppo whitened" : "ppo");
  }
  EXPECT_GT(count.Total(), 0);
}

}  // namespace
}  // namespace reprise::rl
