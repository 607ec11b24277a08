#include "rl/workloads/quiet_star/thought_evaluation.h"

#include <algorithm>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/math/scalar_math.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

double Mean(const std::vector<double>& values) {
  return kernels::TreeSum(values) / static_cast<double>(std::max<size_t>(1, values.size()));
}

double MeanTokenLoss(const Prediction& prediction) {
  return -prediction.logprob / static_cast<double>(prediction.tokens);
}

double ComputeMean(absl::Span<const HeldOutThoughts> text_P, double HeldOutThoughts::* member) {
  std::vector<double> values;
  for (const HeldOutThoughts& text : text_P) values.push_back(text.*member);
  return Mean(values);
}

}  // namespace

HeldOutThoughts SummarizeHeldOut(int64_t prompt, const Prediction& without, const Prediction& greedy,
                                 absl::Span<const Prediction> sample_G, int64_t tokens) {
  HeldOutThoughts text;
  text.score = {.prompt = prompt,
                .greedy_correct = greedy.is_all_correct() ? 1 : 0,
                .greedy_reward = greedy.logprob - without.logprob,
                .tokens = tokens};
  text.accuracy_without = without.accuracy();
  text.loss_without = MeanTokenLoss(without);
  std::vector<double> rewards, accuracies, losses;
  for (const Prediction& sample : sample_G) {
    text.score.correct += sample.is_all_correct() ? 1 : 0;
    rewards.push_back(sample.logprob - without.logprob);
    accuracies.push_back(sample.accuracy());
    losses.push_back(MeanTokenLoss(sample));
  }
  text.score.reward = sample_G.empty() ? 0 : Mean(rewards);
  text.accuracy = sample_G.empty() ? greedy.accuracy() : Mean(accuracies);
  text.loss = sample_G.empty() ? MeanTokenLoss(greedy) : Mean(losses);
  return text;
}

double CoherenceOf(absl::Span<const float> logprob_T) {
  return kernels::Exp(Mean(std::vector<double>(logprob_T.begin(), logprob_T.end())));
}

Metrics HeldOutMetrics(absl::Span<const HeldOutThoughts> text_P, int64_t samples) {
  CHECK(!text_P.empty());
  std::vector<ProblemScore> scores;
  std::vector<double> gain_P;
  for (const HeldOutThoughts& text : text_P) {
    scores.push_back(text.score);
    gain_P.push_back(text.accuracy - text.accuracy_without);
  }
  Metrics metrics = ScoreMetrics(scores, samples);
  // The interval is of numbers within [0, 1]; differences are within [-1, 1].
  std::vector<double> within;
  for (const double gain : gain_P) within.push_back((gain + 1) / 2);
  const Interval interval = MeanInterval(within);
  const std::string name = "eval_thoughts/";
  metrics.emplace_back(name + "accuracy", ComputeMean(text_P, &HeldOutThoughts::accuracy));
  metrics.emplace_back(name + "accuracy_without", ComputeMean(text_P, &HeldOutThoughts::accuracy_without));
  metrics.emplace_back(name + "gain", Mean(gain_P));
  metrics.emplace_back(name + "gain_low", 2 * interval.low - 1);
  metrics.emplace_back(name + "gain_high", 2 * interval.high - 1);
  metrics.emplace_back(name + "loss", ComputeMean(text_P, &HeldOutThoughts::loss));
  metrics.emplace_back(name + "loss_without", ComputeMean(text_P, &HeldOutThoughts::loss_without));
  std::sort(metrics.begin(), metrics.end());
  return metrics;
}

}  // namespace reprise::rl
