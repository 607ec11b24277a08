#include "rl/metrics/episode_metrics.h"

#include <cmath>
#include <map>

#include "core/status/check.h"
#include "kernels/sums/sums.h"
#include "rl/advantage/leave_one_out.h"
#include "rl/advantage/statistics.h"
#include "rl/record/decisions.h"

namespace reprise::rl {
namespace {

std::vector<const EpisodeRecord*> Counted(const StepRecord& record, const std::vector<uint8_t>& invalid_N) {
  std::vector<const EpisodeRecord*> counted;
  for (size_t n = 0; n < record.episode_N.size(); ++n) {
    if (invalid_N[n] == 0) counted.push_back(&record.episode_N[n]);
  }
  return counted;
}

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0.0 : kernels::TreeSum(values) / static_cast<double>(values.size());
}

double Deviation(const std::vector<double>& values) { return values.size() < 2 ? 0.0 : DeviationOfScorable(values); }

// Returns the sum of the log-probabilities of the learned tokens.
double SumLearnedLogprobs(const EpisodeRecord& episode) {
  const std::vector<uint8_t>& mask_T = episode.decisions.learned_T;
  std::vector<double> logprob_T(episode.logprobs.begin(), episode.logprobs.end());
  for (size_t t = 0; t < mask_T.size(); ++t) {
    if (mask_T[t] == 0) logprob_T[t] = 0.0;
  }
  return kernels::TreeSum(logprob_T);
}

// Returns the mean baseline of the episodes that are compared with at least one other.
double MeanBaseline(const std::vector<const EpisodeRecord*>& episodes, const AdvantageOptions& options) {
  std::map<int64_t, std::vector<double>> rewards_of_group;
  for (const EpisodeRecord* episode : episodes) {
    if (std::isnan(episode->reward)) continue;
    rewards_of_group[options.baseline_over_batch ? 0 : episode->prompt].push_back(episode->reward);
  }
  std::vector<double> baselines;
  for (const auto& [group, rewards] : rewards_of_group) {
    if (rewards.size() < 2) continue;
    const absl::StatusOr<EpisodeAdvantages> compared =
        EpisodeLeaveOneOut(ClippedRewards(rewards, options.reward_clip_range));
    CHECK(compared.ok());
    baselines.insert(baselines.end(), compared->baseline_N.begin(), compared->baseline_N.end());
  }
  return Mean(baselines);
}

// Returns NaN where no reward is scorable.
double RewardDeviation(absl::Span<const double> rewards) {
  if (CountScorable(rewards) > 0 && AllScorableEqual(rewards)) return 0.0;
  return DeviationOfScorable(rewards);
}

}  // namespace

Metrics EpisodeMetrics(const EpisodeMetricInputs& inputs, const StepRecord& record,
                       absl::Span<const EpisodeOutcome> outcomes) {
  const std::vector<const EpisodeRecord*> episodes = Counted(record, inputs.invalid_N);
  std::vector<double> rewards, advantages, logprobs, losses, policy_losses;
  for (const EpisodeRecord* episode : episodes) {
    if (!std::isnan(episode->reward)) rewards.push_back(episode->reward);
    advantages.push_back(episode->advantage);
    logprobs.push_back(SumLearnedLogprobs(*episode));
  }
  for (const EpisodeOutcome& outcome : outcomes) {
    losses.push_back(outcome.loss);
    policy_losses.push_back(outcome.metrics.policy_loss);
  }
  const double mini_batches = static_cast<double>(inputs.num_mini_batches);
  Metrics metrics = {
      {"loss/total", kernels::TreeSum(losses) / mini_batches},
      {"loss/policy_gradient", kernels::TreeSum(policy_losses) / mini_batches},
      {"rewards/mean", Mean(rewards)},
      {"rewards/std", Deviation(rewards)},
      {"advantages/mean", Mean(advantages)},
      {"advantages/std", Deviation(advantages)},
      {"logprobs/mean", Mean(logprobs)},
      {"lr", inputs.learning_rate},
      {"epoch", static_cast<double>(record.step * inputs.algorithm.update.num_iterations)},
  };
  if (inputs.algorithm.advantage.baseline == Baseline::kLeaveOneOut) {
    metrics.emplace_back("baselines/mean", MeanBaseline(episodes, inputs.algorithm.advantage));
  }
  return metrics;
}

double MeanActionTokens(const StepRecord& record, const std::vector<uint8_t>& invalid_N) {
  std::vector<double> tokens;
  for (const EpisodeRecord* episode : Counted(record, invalid_N)) {
    tokens.push_back(static_cast<double>(NumLearned(episode->decisions)));
  }
  return Mean(tokens);
}

RewardMetrics SummarizeRewards(const RewardTable& table) {
  const std::vector<double> rewards_N = WeightedRewards(table);
  RewardMetrics metrics;
  std::vector<double> means_P, deviations_P, zero_variance_P;
  for (size_t begin = 0; begin < rewards_N.size(); begin += table.num_generations) {
    const absl::Span<const double> group =
        absl::MakeConstSpan(rewards_N).subspan(begin, static_cast<size_t>(table.num_generations));
    const int64_t scorable = CountScorable(group);
    metrics.num_unscorable += table.num_generations - scorable;
    zero_variance_P.push_back(AllScorableEqual(group) ? 1.0 : 0.0);
    if (scorable == 0) continue;
    means_P.push_back(MeanOfScorable(group));
    deviations_P.push_back(RewardDeviation(group));
  }
  metrics.reward = MeanOfScorable(means_P);
  metrics.reward_std = RewardDeviation(rewards_N);
  metrics.reward_group_std = MeanOfScorable(deviations_P);
  metrics.frac_reward_zero_std = MeanOfScorable(zero_variance_P);
  for (int64_t f = 0; f < table.num_functions(); ++f) {
    const std::vector<double> function_N = FunctionRewards(table, f);
    metrics.mean_F.push_back(MeanOfScorable(function_N));
    metrics.std_F.push_back(DeviationOfScorable(function_N));
  }
  return metrics;
}

}  // namespace reprise::rl
