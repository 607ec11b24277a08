#include "rl/workloads/morphogenesis/growth_metrics.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/evaluation/scores/scores.h"
#include "rl/workloads/morphogenesis/growth_record.h"

namespace reprise::rl {
namespace {

double Mean(const std::vector<double>& values) {
  return kernels::TreeSum(values) / static_cast<double>(std::max<size_t>(1, values.size()));
}

double Share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole));
}

GrowthScore AverageScores(absl::Span<const GrowthScore> scores) {
  std::vector<double> returns, accuracies, params;
  for (const GrowthScore& score : scores) {
    returns.push_back(score.total_return);
    accuracies.push_back(score.final_accuracy);
    params.push_back(score.added_params);
  }
  return {Mean(returns), Mean(accuracies), Mean(params)};
}

void AddScores(absl::string_view prefix, const std::vector<GrowthScore>& scores, Metrics* metrics) {
  const GrowthScore mean = AverageScores(scores);
  metrics->emplace_back(absl::StrCat(prefix, "added_params"), mean.added_params);
  metrics->emplace_back(absl::StrCat(prefix, "final_accuracy"), mean.final_accuracy);
  metrics->emplace_back(absl::StrCat(prefix, "return"), mean.total_return);
}

}  // namespace

void AddGrowthMetrics(const GrowthRules& rules, const StepRecord& record, Metrics* metrics) {
  std::vector<double> accuracies, params;
  std::array<int64_t, 4> of_kind = {};
  std::array<int64_t, kNumGrowthEventKinds> of_event = {};
  int64_t decisions = 0;
  for (const EpisodeRecord& episode : record.episode_N) {
    const PlayedGrowth& played = GetPlayedGrowth(episode);
    const GrowthReport& last = played.report_T1.back();
    accuracies.push_back(last.measures.val_accuracy);
    params.push_back(static_cast<double>(last.fossil_params + (last.seed ? last.seed->params : 0)));
    for (const int32_t action : played.action_T) ++of_kind[static_cast<size_t>(rules.actions.At(action).kind)];
    for (const GrowthEvent& event : played.events) ++of_event[static_cast<size_t>(event.kind)];
    decisions += static_cast<int64_t>(played.action_T.size());
  }
  constexpr absl::string_view kKinds[] = {"wait", "germinate", "fossilize", "cull"};
  for (size_t kind = 0; kind < of_kind.size(); ++kind) {
    metrics->emplace_back(absl::StrCat("growth/actions/", kKinds[kind]), Share(of_kind[kind], decisions));
  }
  const int64_t episodes = static_cast<int64_t>(record.episode_N.size());
  const auto per_episode = [&](GrowthEventKind kind) { return Share(of_event[static_cast<size_t>(kind)], episodes); };
  metrics->emplace_back("growth/added_params", Mean(params));
  metrics->emplace_back("growth/culled", per_episode(GrowthEventKind::kSeedCulled));
  metrics->emplace_back("growth/final_accuracy", Mean(accuracies));
  metrics->emplace_back("growth/fossilized", per_episode(GrowthEventKind::kSeedFossilized));
  metrics->emplace_back("growth/germinated", per_episode(GrowthEventKind::kSeedGerminated));
  metrics->emplace_back("growth/rolled_back", per_episode(GrowthEventKind::kRolledBack));
}

HeldOutGrowth SummarizeHeldOut(const GrowthScore& greedy, const GrowthScore& heuristic, const GrowthScore& random,
                               absl::Span<const GrowthScore> sampled_G, int64_t epochs) {
  HeldOutGrowth result = {
      .greedy = greedy, .heuristic = heuristic, .random = random, .sampled = AverageScores(sampled_G)};
  for (const GrowthScore& sample : sampled_G) {
    result.correct += sample.total_return > heuristic.total_return ? 1 : 0;
    result.decisions += epochs;
  }
  return result;
}

Metrics HeldOutMetrics(absl::Span<const HeldOutGrowth> held_out_P, int64_t samples) {
  std::vector<ProblemScore> problems;
  std::vector<GrowthScore> greedy, heuristic, random, sampled;
  for (const HeldOutGrowth& held_out : held_out_P) {
    greedy.push_back(held_out.greedy);
    heuristic.push_back(held_out.heuristic);
    random.push_back(held_out.random);
    sampled.push_back(held_out.sampled);
    problems.push_back({.prompt = static_cast<int64_t>(problems.size()),
                        .greedy_correct = held_out.greedy.total_return > held_out.heuristic.total_return ? 1 : 0,
                        .greedy_reward = held_out.greedy.total_return,
                        .correct = held_out.correct,
                        .reward = held_out.sampled.total_return,
                        .tokens = held_out.decisions});
  }
  Metrics metrics = ScoreMetrics(problems, samples);
  AddScores("eval_greedy_", greedy, &metrics);
  AddScores("eval_heuristic_", heuristic, &metrics);
  AddScores("eval_random_", random, &metrics);
  if (samples > 0) AddScores("eval_", sampled, &metrics);
  std::sort(metrics.begin(), metrics.end());
  return metrics;
}

}  // namespace reprise::rl
