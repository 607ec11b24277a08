// Computes an algorithm row's gradient for a group of the bandit's episodes with the same calls as a learner.

#include <algorithm>

#include "kernels/sums/sums.h"
#include "rl/advantage/token_rewards.h"
#include "rl/algorithm/token_advantages.h"
#include "rl/loss/policy_loss.h"
#include "rl/testing/bandit.h"

namespace reprise::rl::testing {
namespace {

// A group's episodes as arrays that views can point to.
struct Episodes {
  std::vector<Path> path_N;
  std::vector<std::vector<double>> logprob_NT, old_NT, ref_NT, kl_NT, value_NT;
  std::vector<double> reward_N, sequence_kl_N;
  std::vector<int64_t> length_N;
  std::vector<SequenceSize> size_N;
  double num_tokens = 0.0;
};

Episodes SelectEpisodes(const Setting& setting, absl::Span<const size_t> group) {
  const std::vector<Path> paths = Paths(setting.game);
  Episodes e;
  for (size_t p : group) {
    const Path& path = paths[p];
    e.path_N.push_back(path);
    e.logprob_NT.push_back(LogProbs(setting.game, setting.policy, path));
    e.old_NT.push_back(setting.sampler.empty() ? e.logprob_NT.back() : LogProbs(setting.game, setting.sampler, path));
    e.ref_NT.push_back(setting.reference.empty() ? e.old_NT.back() : LogProbs(setting.game, setting.reference, path));
    e.kl_NT.push_back(TokenDivergences(e.old_NT.back(), e.ref_NT.back(), {}));
    e.sequence_kl_N.push_back(kernels::TreeSum(e.kl_NT.back()));
    e.value_NT.emplace_back();
    for (int64_t state : path.state_T) {
      e.value_NT.back().push_back(setting.value_S.empty() ? 0.0 : setting.value_S[static_cast<size_t>(state)]);
    }
    e.reward_N.push_back(path.reward);
    e.length_N.push_back(static_cast<int64_t>(path.action_T.size()));
    e.size_N.push_back({e.length_N.back(), 1.0});
    e.num_tokens += static_cast<double>(e.length_N.back());
  }
  return e;
}

// Returns the reward of the path of the most probable actions, the first among equals.
double GreedyReward(const Setting& setting) {
  int64_t state = 0;
  std::vector<int64_t> actions;
  for (int64_t t = 0; t < setting.game.depth; ++t) {
    const auto row = setting.policy.begin() + state * setting.game.num_actions;
    actions.push_back(std::max_element(row, row + setting.game.num_actions) - row);
    if (setting.game.zero_stops && actions.back() == 0) break;
    state = 1 + actions.back();
  }
  for (const Path& path : Paths(setting.game)) {
    if (path.action_T == actions) return path.reward;
  }
  return 0.0;
}

TokenAdvantages ComputeTokenAdvantages(const AlgorithmConfig& row, const Setting& setting, const Episodes& e) {
  const std::vector<double> weights_F = {1.0};
  const bool is_optimal = row.advantage.baseline == Baseline::kOptimal;
  const std::vector<double> baseline_P = {is_optimal ? setting.optimal_value : GreedyReward(setting)};
  const AdvantageInputs inputs = {.table = {e.reward_N, weights_F, static_cast<int64_t>(e.path_N.size())},
                                  .sequence_kl_N = e.sequence_kl_N,
                                  .length_N = e.length_N,
                                  .prompt_baseline_P = baseline_P,
                                  .running_mean = setting.running_mean};
  std::vector<EpisodeTokens> episode_N;
  for (size_t n = 0; n < e.path_N.size(); ++n) {
    episode_N.push_back({e.length_N[n], {}, e.kl_NT[n], e.value_NT[n]});
  }
  return AdvantagesByToken(inputs, episode_N, row.advantage);
}

}  // namespace

Table RowGradient(const AlgorithmConfig& row, const Setting& setting, absl::Span<const size_t> group) {
  const Episodes e = SelectEpisodes(setting, group);
  const TokenAdvantages advantages = ComputeTokenAdvantages(row, setting, e);
  const LossNormalizer normalizer = MakeNormalizer(e.size_N, e.num_tokens, 1);
  LossOptions options = row.loss;
  options.max_completion_length = setting.game.depth;
  Table gradient(setting.policy.size(), 0.0);
  for (size_t n = 0; n < e.path_N.size(); ++n) {
    Sequence sequence;
    sequence.logprob_T = e.logprob_NT[n];
    if (!setting.sampler.empty()) sequence.old_logprob_T = e.old_NT[n];
    sequence.ref_logprob_T = e.ref_NT[n];
    // A shared advantage is set on the sequence, from where VESPO and RLOO read it.
    sequence.advantage = advantages.advantage_NT[n][0];
    if (ByToken(row.advantage)) sequence.advantage_T = advantages.advantage_NT[n];
    const SequenceLoss loss = PolicyLoss(sequence, options, normalizer);
    for (size_t t = 0; t < loss.dloss_dlogprob_T.size(); ++t) {
      AddScore(setting.game, setting.policy, e.path_N[n], t, -loss.dloss_dlogprob_T[t], &gradient);
    }
  }
  return gradient;
}

}  // namespace reprise::rl::testing
