#include "rl/quiet_star/thought_metrics.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/sums/sums.h"
#include "rl/quiet_star/thought_evaluation.h"
#include "rl/quiet_star/thought_record.h"
#include "rl/schedule/entropy_coefficient.h"

namespace reprise::rl {
namespace {

double Mean(const std::vector<double>& values) {
  return kernels::TreeSum(values) / static_cast<double>(std::max<size_t>(1, values.size()));
}

// Returns a metric; the value of `otherwise` where there is none of that name, and 0 without that either.
double Value(const Metrics& metrics, absl::string_view name, absl::string_view otherwise = "") {
  for (const absl::string_view wanted : {name, otherwise}) {
    const auto found =
        std::find_if(metrics.begin(), metrics.end(), [&](const auto& named) { return named.first == wanted; });
    if (found != metrics.end()) return found->second;
  }
  return 0;
}

}  // namespace

void AddThoughtMetrics(const StepRecord& record, Metrics* metrics) {
  std::vector<double> lengths, positions, rewards, rewarded, coherences;
  for (const EpisodeRecord& episode : record.episode_N) {
    const std::vector<models::Thought>& thoughts = ThoughtsOf(episode);
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

void AddPaperMetrics(const AlgorithmRow& algorithm, const StepRecord& record, Metrics* metrics) {
  std::vector<double> advantages;
  for (const EpisodeRecord& episode : record.episode_N) advantages.push_back(episode.advantage);
  // The published coefficient is reported after its decay. One that adapts is a state, which is known here as it was.
  const double coefficient =
      algorithm.entropy.adaptive ? algorithm.loss.entropy_coef : EntropyCoefficient(algorithm.entropy, {}, record.step);
  const Metrics paper = {{"rl/episode", static_cast<double>(record.step)},
                         {"rl/reward", Value(*metrics, "reward")},
                         {"rl/avg_reward_100", Value(*metrics, "reward_moving_average")},
                         {"rl/policy_loss", Value(*metrics, "loss/policy_avg", "loss")},
                         {"rl/value_loss", Value(*metrics, "loss/value_avg")},
                         {"rl/entropy", Value(*metrics, "entropy")},
                         {"rl/entropy_coefficient", coefficient},
                         {"rl/advantages", Mean(advantages)},
                         {"rl/kl_divergence", Value(*metrics, "kl")},
                         {"rl/total_loss", Value(*metrics, "loss")},
                         {"rl/num_thoughts", Value(*metrics, "thoughts/positions")},
                         {"rl/coherence", Value(*metrics, "thoughts/coherence")},
                         {"rl/learning_rate", Value(*metrics, "learning_rate")}};
  metrics->insert(metrics->end(), paper.begin(), paper.end());
}

}  // namespace reprise::rl
