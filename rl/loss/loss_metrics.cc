#include "rl/loss/loss_metrics.h"

#include <algorithm>
#include <cstdint>

#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

template <typename Field>
double Sum(absl::Span<const SequenceLossMetrics> metrics_N, Field field) {
  std::vector<double> values;
  for (const SequenceLossMetrics& metrics : metrics_N) values.push_back(static_cast<double>(metrics.*field));
  return kernels::TreeSum(values);
}

double Ratio(double numerator, double denominator) { return denominator == 0.0 ? 0.0 : numerator / denominator; }

void AddClipRatios(absl::Span<const SequenceLossMetrics> metrics_N, std::vector<NamedMetric>* named) {
  const double ratios = Sum(metrics_N, &SequenceLossMetrics::num_ratios);
  const double low = Sum(metrics_N, &SequenceLossMetrics::low_clipped);
  const double high = Sum(metrics_N, &SequenceLossMetrics::high_clipped);
  double low_min = 1.0, high_max = 0.0;
  for (const SequenceLossMetrics& m : metrics_N) {
    if (m.num_ratios == 0) continue;
    const double count = static_cast<double>(m.num_ratios);
    low_min = std::min(low_min, static_cast<double>(m.low_clipped) / count);
    high_max = std::max(high_max, static_cast<double>(m.high_clipped) / count);
  }
  named->push_back({"clip_ratio/low_mean", Ratio(low, ratios)});
  named->push_back({"clip_ratio/low_min", ratios == 0.0 ? 0.0 : low_min});
  named->push_back({"clip_ratio/high_mean", Ratio(high, ratios)});
  named->push_back({"clip_ratio/high_max", high_max});
  named->push_back({"clip_ratio/region_mean", Ratio(low + high, ratios)});
}

double MeanVespoWeight(absl::Span<const SequenceLossMetrics> metrics_N) {
  return Ratio(Sum(metrics_N, &SequenceLossMetrics::vespo_weight_sum),
               Sum(metrics_N, &SequenceLossMetrics::num_vespo_weights));
}

// Over the sequences with an unmasked token.
double MeanImplicitReward(absl::Span<const SequenceLossMetrics> metrics_N) {
  std::vector<double> values;
  for (const SequenceLossMetrics& m : metrics_N) {
    if (m.num_tokens > 0) values.push_back(m.implicit_reward);
  }
  return Ratio(kernels::TreeSum(values), static_cast<double>(values.size()));
}

void AddTermMetrics(const LossOptions& options, absl::Span<const SequenceLossMetrics> metrics_N,
                    std::vector<NamedMetric>* named) {
  switch (EffectiveClip(options)) {
    case Clip::kCispo:
      named->push_back({"cispo_clip_ratio", Ratio(Sum(metrics_N, &SequenceLossMetrics::high_clipped),
                                                  Sum(metrics_N, &SequenceLossMetrics::num_ratios))});
      return;
    case Clip::kVespo:
      named->push_back({"vespo/phi_seq_mean", MeanVespoWeight(metrics_N)});
      return;
    case Clip::kGmpo:
      AddClipRatios(metrics_N, named);
      return;
    case Clip::kRegression:
      named->push_back({"implicit_reward", MeanImplicitReward(metrics_N)});
      return;
    case Clip::kTwoSided:
      AddClipRatios(metrics_N, named);
      if (!options.dual_clip) return;
      named->push_back({"clip_ratio/dual_mean", Ratio(Sum(metrics_N, &SequenceLossMetrics::dual_clipped),
                                                      Sum(metrics_N, &SequenceLossMetrics::num_ratios))});
      return;
    case Clip::kSapo:
    case Clip::kNone:
    case Clip::kReinforce:
      return;
  }
}

}  // namespace

double ApproxKl(absl::Span<const SequenceLossMetrics> metrics_N) {
  return Ratio(Sum(metrics_N, &SequenceLossMetrics::approx_kl_sum), Sum(metrics_N, &SequenceLossMetrics::num_tokens));
}

std::vector<NamedMetric> SummarizeLoss(const LossOptions& options, absl::Span<const SequenceLossMetrics> metrics_N) {
  std::vector<NamedMetric> named;
  AddTermMetrics(options, metrics_N, &named);
  const double tokens = Sum(metrics_N, &SequenceLossMetrics::num_tokens);
  if (options.beta != 0.0) named.push_back({"kl", Ratio(Sum(metrics_N, &SequenceLossMetrics::kl_sum), tokens)});
  named.push_back({"entropy", Ratio(Sum(metrics_N, &SequenceLossMetrics::entropy_sum), tokens)});
  // TRL's PPOTrainer: half the mean square, k2; the mean ratio.
  named.push_back(
      {"policy/approxkl_avg", 0.5 * Ratio(Sum(metrics_N, &SequenceLossMetrics::squared_log_ratio_sum), tokens)});
  named.push_back({"val/ratio", tokens == 0.0 ? 1.0 : Sum(metrics_N, &SequenceLossMetrics::ratio_sum) / tokens});
  double greatest = 0.0;
  for (const SequenceLossMetrics& m : metrics_N) greatest = std::max(greatest, m.max_abs_log_ratio);
  named.push_back({"log_ratio/abs_max", greatest});
  named.push_back({"log_ratio/clamped", Sum(metrics_N, &SequenceLossMetrics::clamped)});
  return named;
}

}  // namespace reprise::rl
