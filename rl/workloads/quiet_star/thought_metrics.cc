#include "rl/workloads/quiet_star/thought_metrics.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/sums/sums.h"
#include "rl/schedule/entropy_coefficient.h"
#include "rl/workloads/quiet_star/thought_evaluation.h"
#include "rl/workloads/quiet_star/thought_record.h"

namespace reprise::rl {
namespace {

double Mean(const std::vector<double>& values) {
  return kernels::TreeSum(values) / static_cast<double>(std::max<size_t>(1, values.size()));
}

bool Has(const Metrics& metrics, absl::string_view name) {
  return std::any_of(metrics.begin(), metrics.end(), [&](const auto& named) { return named.first == name; });
}

}  // namespace

double ValueOf(const Metrics& metrics, absl::string_view name) {
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [&](const auto& named) { return named.first == name; });
  return found == metrics.end() ? 0 : found->second;
}

void AddTextLosses(const QuietStarConfig& config, Metrics* metrics) {
  const double of_texts =
      config.base_weight * ValueOf(*metrics, "text_nll") + config.talk_weight * ValueOf(*metrics, "mixed_nll");
  for (auto& [name, value] : *metrics) {
    if (name == "loss" || name == "loss/total") value += of_texts;
  }
}

void AddThoughtMetrics(const StepRecord& record, Metrics* metrics) {
  std::vector<double> lengths, positions, rewards, rewarded, coherences;
  for (const EpisodeRecord& episode : record.episode_N) {
    const std::vector<models::Thought>& thoughts = GetThoughts(episode);
    positions.push_back(static_cast<double>(thoughts.size()));
    size_t first = 0;
    for (const models::Thought& thought : thoughts) {
      const size_t length = thought.tokens.size();
      lengths.push_back(static_cast<double>(length));
      rewards.push_back(episode.earned_T[first + length - 1]);
      rewarded.push_back(rewards.back() > 0 ? 1.0 : 0.0);
      coherences.push_back(CoherenceOf(absl::MakeConstSpan(episode.logprobs).subspan(first, length)));
      first += length;
    }
  }
  metrics->emplace_back("thoughts/coherence", Mean(coherences));
  metrics->emplace_back("thoughts/mean_length", Mean(lengths));
  metrics->emplace_back("thoughts/positions", Mean(positions));
  metrics->emplace_back("thoughts/reward", Mean(rewards));
  metrics->emplace_back("thoughts/rewarded", Mean(rewarded));
}

void AddPaperMetrics(const AlgorithmConfig& algorithm, const StepRecord& record, double policy_loss, Metrics* metrics) {
  std::vector<double> advantages;
  for (const EpisodeRecord& episode : record.episode_N) advantages.push_back(episode.advantage);
  // The published coefficient is reported after its decay. One that adapts is a state, which is known here as it was.
  const double coefficient =
      algorithm.entropy.adaptive ? algorithm.loss.entropy_coef : EntropyCoefficient(algorithm.entropy, {}, record.step);
  const Metrics paper = {
      {"rl/episode", static_cast<double>(record.step)},
      {"rl/reward", ValueOf(*metrics, "reward")},
      {"rl/avg_reward_100", ValueOf(*metrics, "reward_moving_average")},
      {"rl/policy_loss", Has(*metrics, "loss/policy_avg") ? ValueOf(*metrics, "loss/policy_avg") : policy_loss},
      {"rl/value_loss", ValueOf(*metrics, "loss/value_avg")},
      {"rl/entropy", ValueOf(*metrics, "entropy")},
      {"rl/entropy_coefficient", coefficient},
      {"rl/advantages", Mean(advantages)},
      {"rl/kl_divergence", ValueOf(*metrics, "kl")},
      {"rl/total_loss", ValueOf(*metrics, "loss")},
      {"rl/num_thoughts", ValueOf(*metrics, "thoughts/positions")},
      {"rl/coherence", ValueOf(*metrics, "thoughts/coherence")},
      {"rl/learning_rate", ValueOf(*metrics, "learning_rate")}};
  metrics->insert(metrics->end(), paper.begin(), paper.end());
}

}  // namespace reprise::rl
