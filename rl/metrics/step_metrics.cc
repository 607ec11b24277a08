#include "rl/metrics/step_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "kernels/math/scalar_math.h"
#include "kernels/sums/sums.h"
#include "rl/loss/loss_metrics.h"
#include "rl/metrics/episode_metrics.h"
#include "rl/record/decisions.h"

namespace reprise::rl {
namespace {

// Whether the configuration does not say how many updates a step makes: it may end early, or no token of a minibatch
// counts; or the step has as many minibatches as its decisions or its size give.
bool MayLackUpdates(const MetricInputs& inputs) {
  const AlgorithmConfig& algorithm = inputs.algorithm;
  return algorithm.update.target_kl > 0 || algorithm.update.mini_batch_size > 0 ||
         algorithm.update.unit == MinibatchUnit::kDecision || algorithm.mask_truncated_completions ||
         algorithm.dynamic_sampling || algorithm.advantage.baseline == Baseline::kOptimal ||
         inputs.may_lack_decisions || inputs.rewards.may_lack;
}

double Sum(const std::vector<EpisodeOutcome>& outcomes, const std::function<double(const EpisodeOutcome&)>& property) {
  std::vector<double> values;
  for (const EpisodeOutcome& outcome : outcomes) values.push_back(property(outcome));
  return kernels::TreeSum(values);
}

double Tokens(const std::vector<EpisodeOutcome>& outcomes) {
  return std::max(1.0, Sum(outcomes, [](const auto& o) { return static_cast<double>(o.metrics.num_tokens); }));
}

void AddCommon(const MetricInputs& inputs, double mini_batches, const std::vector<EpisodeOutcome>& outcomes,
               Metrics& metrics) {
  metrics.emplace_back("loss", Sum(outcomes, [](const auto& o) { return o.loss; }) / mini_batches);
  metrics.emplace_back("grad_norm", inputs.grad_norm);
  metrics.emplace_back("learning_rate", inputs.learning_rate);
  metrics.emplace_back("num_tokens", static_cast<double>(inputs.num_tokens));
}

void AddRewards(const MetricInputs& inputs, const StepRecord& record, Metrics& metrics) {
  std::vector<double> rewards_NF;
  for (const EpisodeRecord& episode : record.episode_N) {
    rewards_NF.insert(rewards_NF.end(), episode.rewards_F.begin(), episode.rewards_F.end());
  }
  const RewardMetrics rewards =
      SummarizeRewards({rewards_NF, inputs.rewards.weights_F, inputs.config.rollout.num_generations});
  // A mean over nothing is NaN: no function could score any completion.
  const auto or_zero = [](double value) { return std::isnan(value) ? 0.0 : value; };
  metrics.emplace_back("reward", or_zero(rewards.reward));
  metrics.emplace_back("reward_std", or_zero(rewards.reward_std));
  metrics.emplace_back("reward_group_std", or_zero(rewards.reward_group_std));
  metrics.emplace_back("frac_reward_zero_std", rewards.frac_reward_zero_std);
  if (inputs.rewards.may_lack) {
    metrics.emplace_back("frac_unscorable", static_cast<double>(rewards.num_unscorable) /
                                                static_cast<double>(std::max<size_t>(1, record.episode_N.size())));
  }
  for (size_t f = 0; f < inputs.rewards.names_F.size(); ++f) {
    metrics.emplace_back(absl::StrCat("rewards/", inputs.rewards.names_F[f], "/mean"), or_zero(rewards.mean_F[f]));
    metrics.emplace_back(absl::StrCat("rewards/", inputs.rewards.names_F[f], "/std"), or_zero(rewards.std_F[f]));
  }
}

void AddEpisodes(const MetricInputs& inputs, const StepRecord& record, const std::vector<EpisodeOutcome>& outcomes,
                 Metrics& metrics) {
  const bool reports_episodes = inputs.config.algorithm.episode_metrics;
  if (reports_episodes) {
    const Metrics of_episodes = EpisodeMetrics(
        {inputs.algorithm, inputs.invalid_N, inputs.learning_rate, inputs.num_mini_batches}, record, outcomes);
    metrics.insert(metrics.end(), of_episodes.begin(), of_episodes.end());
  }
  if (reports_episodes || inputs.may_lack_decisions) {
    metrics.emplace_back("action_tokens/mean", MeanActionTokens(record, inputs.invalid_N));
  }
}

void AddLoader(const LoaderStats& loader, Metrics& metrics) {
  metrics.emplace_back("loader/total", static_cast<double>(loader.total));
  metrics.emplace_back("loader/valid", static_cast<double>(loader.valid));
  metrics.emplace_back("loader/invalid", static_cast<double>(loader.invalid));
  metrics.emplace_back("loader/avg_turns", loader.avg_turns);
  metrics.emplace_back("loader/avg_reward", loader.avg_reward);
  metrics.emplace_back("loader/num_batches", static_cast<double>(loader.num_batches));
}

void AddSampling(const std::vector<EpisodeOutcome>& outcomes, Metrics& metrics) {
  double largest = 0;
  for (const EpisodeOutcome& outcome : outcomes) largest = std::max(largest, outcome.logprob_difference_max);
  const double compared = Sum(outcomes, [](const auto& o) { return static_cast<double>(o.num_compared); });
  metrics.emplace_back("sampling/sampling_logp_difference/max", largest);
  metrics.emplace_back("sampling/sampling_logp_difference/mean",
                       Sum(outcomes, [](const auto& o) { return o.logprob_difference_sum; }) / std::max(1.0, compared));
}

void AddCorrections(const std::vector<EpisodeOutcome>& outcomes, Metrics& metrics) {
  double least = 1, most = 1;
  for (const EpisodeOutcome& outcome : outcomes) {
    least = std::min(least, outcome.importance_min);
    most = std::max(most, outcome.importance_max);
  }
  metrics.emplace_back("sampling/importance_sampling_ratio/min", least);
  metrics.emplace_back("sampling/importance_sampling_ratio/max", most);
  // Without tokens there is no correction: the mean ratio is 1.
  const bool any =
      std::any_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.metrics.num_tokens > 0; });
  const double sum = Sum(outcomes, [](const auto& o) { return o.importance_sum; });
  metrics.emplace_back("sampling/importance_sampling_ratio/mean", any ? sum / Tokens(outcomes) : 1.0);
}

// Adds the divergence per token that is subtracted from the reward, as estimated there, of the policy that sampled. A
// divergence that is added to the loss is among the loss's metrics.
void AddRewardDivergence(const MetricInputs& inputs, const StepRecord& record, Metrics& metrics) {
  std::vector<double> divergences, tokens;
  for (size_t n = 0; n < record.episode_N.size(); ++n) {
    if (inputs.masked_N[n] != 0) continue;
    const EpisodeRecord& episode = record.episode_N[n];
    divergences.push_back(SequenceDivergence(episode, inputs.algorithm.advantage.reward_kl_estimator));
    tokens.push_back(static_cast<double>(NumLearned(episode.decisions)));
  }
  metrics.emplace_back("kl", kernels::TreeSum(divergences) / std::max(1.0, kernels::TreeSum(tokens)));
}

// Uses the names of TRL's PPOTrainer and (critic/) verl's. The losses are those of the last updates, as `loss` is.
void AddValues(const MetricInputs& inputs, const std::vector<EpisodeOutcome>& outcomes, Metrics& metrics) {
  const double mini_batches = static_cast<double>(inputs.num_mini_batches);
  const double value_loss = Sum(outcomes, [](const auto& o) { return o.value_loss; }) / mini_batches;
  const double loss = Sum(outcomes, [](const auto& o) { return o.loss; }) / mini_batches;
  metrics.emplace_back("loss/policy_avg", loss - value_loss);
  metrics.emplace_back("loss/value_avg", value_loss);
  metrics.emplace_back("val/clipfrac_avg", Sum(outcomes, [](const auto& o) {
                                             return static_cast<double>(o.value_clipped);
                                           }) / Tokens(outcomes));
  metrics.emplace_back("critic/vf_explained_var", inputs.values.explained_variance);
  metrics.emplace_back("critic/values/mean", inputs.values.mean_value);
  metrics.emplace_back("critic/returns/mean", inputs.values.mean_return);
}

void AddCoefficients(const MetricInputs& inputs, Metrics& metrics) {
  const AlgorithmConfig& algorithm = inputs.algorithm;
  if (algorithm.kl.schedule != KlSchedule::kFixed) metrics.emplace_back("kl_coef", Beta(algorithm));
  if (algorithm.loss.entropy_coef != 0 || algorithm.entropy.adaptive) {
    metrics.emplace_back("entropy_coef", algorithm.loss.entropy_coef);
  }
  if (MayLackUpdates(inputs)) metrics.emplace_back("num_updates", static_cast<double>(inputs.num_updates));
  if (algorithm.advantage.baseline == Baseline::kOptimal) metrics.emplace_back("v_star", inputs.mean_prompt_baseline);
}

// Of the last update of each completion, as `loss` is.
void AddDiagnostics(const MetricInputs& inputs, const std::vector<EpisodeOutcome>& outcomes, Metrics& metrics) {
  double least = 1, greatest = 1;
  bool has_ratio = false;
  for (const EpisodeOutcome& outcome : outcomes) {
    const SequenceLossMetrics& m = outcome.metrics;
    if (m.num_tokens == 0) continue;
    least = has_ratio ? std::min(least, m.least_ratio) : m.least_ratio;
    greatest = has_ratio ? std::max(greatest, m.greatest_ratio) : m.greatest_ratio;
    has_ratio = true;
  }
  const double tokens = Tokens(outcomes);
  const double squares = Sum(outcomes, [](const auto& o) { return o.metrics.squared_ratio_distance_sum; }) / tokens;
  const double ratios = Sum(outcomes, [](const auto& o) { return o.metrics.ratio_sum; });
  const double distance = has_ratio ? ratios / tokens - 1.0 : 0.0;
  metrics.emplace_back("ratio/min", least);
  metrics.emplace_back("ratio/max", greatest);
  metrics.emplace_back("ratio/std", kernels::Sqrt(std::max(0.0, squares - distance * distance)));
  metrics.emplace_back("iterations", static_cast<double>(inputs.iterations));
  if (!NeedsValues(inputs.algorithm)) return;
  metrics.emplace_back("critic/advantages/mean", inputs.values.advantages.mean);
  metrics.emplace_back("critic/advantages/std", kernels::Sqrt(inputs.values.advantages.Variance(1)));
}

Metrics Sorted(Metrics metrics) {
  std::sort(metrics.begin(), metrics.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return metrics;
}

}  // namespace

Metrics TrainingMetrics(const MetricInputs& inputs, const StepRecord& record,
                        const std::vector<EpisodeOutcome>& first_outcomes,
                        const std::vector<EpisodeOutcome>& outcomes) {
  CHECK_EQ(record.episode_N.size(), outcomes.size());
  CHECK_EQ(record.episode_N.size(), first_outcomes.size());
  CHECK_EQ(record.episode_N.size(), inputs.masked_N.size());
  CHECK_EQ(record.episode_N.size(), inputs.invalid_N.size());
  Metrics metrics;
  AddCommon(inputs, static_cast<double>(inputs.num_mini_batches), outcomes, metrics);
  AddRewards(inputs, record, metrics);
  AddEpisodes(inputs, record, outcomes, metrics);
  if (inputs.loader) AddLoader(*inputs.loader, metrics);
  AddSampling(first_outcomes, metrics);
  if (NeedsDivergence(inputs.algorithm)) AddRewardDivergence(inputs, record, metrics);
  AddCoefficients(inputs, metrics);
  if (inputs.algorithm.correction.mode != ImportanceMode::kNone) AddCorrections(outcomes, metrics);
  if (NeedsValues(inputs.algorithm)) AddValues(inputs, outcomes, metrics);
  if (inputs.config.algorithm.diagnostics) AddDiagnostics(inputs, outcomes, metrics);
  std::vector<SequenceLossMetrics> loss_metrics;
  for (const EpisodeOutcome& outcome : outcomes) loss_metrics.push_back(outcome.metrics);
  for (const NamedMetric& metric : SummarizeLoss(inputs.algorithm.loss, loss_metrics)) {
    metrics.emplace_back(std::string(metric.name), metric.value);
  }
  return Sorted(std::move(metrics));
}

Metrics SftMetrics(const MetricInputs& inputs, const std::vector<EpisodeOutcome>& outcomes) {
  Metrics metrics;
  AddCommon(inputs, 1.0, outcomes, metrics);
  metrics.emplace_back("entropy",
                       Sum(outcomes, [](const auto& o) { return o.metrics.entropy_sum; }) / Tokens(outcomes));
  return Sorted(std::move(metrics));
}

}  // namespace reprise::rl
