#include "rl/completions/completion_metrics.h"

#include <algorithm>
#include <vector>

#include "kernels/sums/sums.h"
#include "rl/completions/action_metrics.h"

namespace reprise::rl {
namespace {

// Mean, minimum and maximum of a property over the episodes that have it; zeros without any.
struct Summary {
  double mean = 0, min = 0, max = 0;
};

Summary Summarize(const std::vector<double>& values) {
  if (values.empty()) return {};
  return {kernels::TreeSum(values) / static_cast<double>(values.size()),
          *std::min_element(values.begin(), values.end()), *std::max_element(values.begin(), values.end())};
}

void AddLengths(const StepRecord& record, Metrics& metrics) {
  std::vector<double> all, terminated;
  for (const EpisodeRecord& episode : record.episode_N) {
    all.push_back(static_cast<double>(NumDrawn(episode.decisions)));
    if (episode.terminated) terminated.push_back(all.back());
  }
  const Summary lengths = Summarize(all), ended = Summarize(terminated);
  metrics.emplace_back("completions/mean_length", lengths.mean);
  metrics.emplace_back("completions/min_length", lengths.min);
  metrics.emplace_back("completions/max_length", lengths.max);
  metrics.emplace_back("completions/mean_terminated_length", ended.mean);
  metrics.emplace_back("completions/min_terminated_length", ended.min);
  metrics.emplace_back("completions/max_terminated_length", ended.max);
  metrics.emplace_back("completions/clipped_ratio", 1.0 - static_cast<double>(terminated.size()) /
                                                              static_cast<double>(std::max<size_t>(1, all.size())));
}

// Only episodes with an environment have turns.
void AddTurns(const StepRecord& record, Metrics& metrics) {
  std::vector<double> turns, observed;
  for (const EpisodeRecord& episode : record.episode_N) {
    if (episode.turn_K.empty()) continue;
    turns.push_back(static_cast<double>(episode.turn_K.size()));
    observed.push_back(static_cast<double>(episode.tokens.size()) - static_cast<double>(NumDrawn(episode.decisions)));
  }
  if (turns.empty()) return;
  const Summary summary = Summarize(turns);
  metrics.emplace_back("turns/mean", summary.mean);
  metrics.emplace_back("turns/min", summary.min);
  metrics.emplace_back("turns/max", summary.max);
  metrics.emplace_back("observations/mean_length", Summarize(observed).mean);
}

// Uses TRL's names; a refused call counts as a failed one.
void AddTools(const StepRecord& record, Metrics& metrics) {
  int64_t calls = 0, refused = 0;
  for (const EpisodeRecord& episode : record.episode_N) {
    for (const TurnRecord& turn : episode.turn_K) {
      if (!turn.reply || turn.reply->tool_call == ToolCall::kNone) continue;
      ++calls;
      refused += turn.reply->tool_call == ToolCall::kRefused ? 1 : 0;
    }
  }
  const auto share = [](int64_t part, size_t whole) {
    return static_cast<double>(part) / static_cast<double>(std::max<size_t>(whole, 1));
  };
  metrics.emplace_back("tools/call_frequency", share(calls, record.episode_N.size()));
  metrics.emplace_back("tools/failure_frequency", share(refused, static_cast<size_t>(calls)));
}

}  // namespace

void AddCompletionMetrics(const StepRecord& record, const CompletionMetricOptions& options, Metrics* metrics) {
  AddLengths(record, *metrics);
  AddTurns(record, *metrics);
  if (options.counts_tool_calls) AddTools(record, *metrics);
  const Metrics of_actions = ActionMetrics(record, options.group, options.drops_invalid);
  metrics->insert(metrics->end(), of_actions.begin(), of_actions.end());
}

}  // namespace reprise::rl
