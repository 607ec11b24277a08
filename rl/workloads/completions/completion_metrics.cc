#include "rl/workloads/completions/completion_metrics.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/sums/sums.h"
#include "rl/episodes/action_checks.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_turns.h"

namespace reprise::rl {
namespace {

double Share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1));
}

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
    const CompletionEpisode& completion = CompletionOf(episode);
    if (completion.turn_K.empty()) continue;
    turns.push_back(static_cast<double>(completion.turn_K.size()));
    observed.push_back(static_cast<double>(completion.tokens.size()) -
                       static_cast<double>(NumDrawn(episode.decisions)));
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
    for (const TurnRecord& turn : CompletionOf(episode).turn_K) {
      if (!turn.reply || turn.reply->tool_call == ToolCall::kNone) continue;
      ++calls;
      refused += turn.reply->tool_call == ToolCall::kRefused ? 1 : 0;
    }
  }
  metrics.emplace_back("tools/call_frequency", Share(calls, static_cast<int64_t>(record.episode_N.size())));
  metrics.emplace_back("tools/failure_frequency", Share(refused, calls));
}

using grid_navigation::EpisodeCheck;
using grid_navigation::MaskingQuality;

double Mean(const std::vector<double>& values) {
  return kernels::TreeSum(values) / static_cast<double>(std::max<size_t>(values.size(), 1));
}

// An action that is valid and ends the episode is an answer.
bool HasAnswered(const CompletionEpisode& episode) {
  const TurnRecord& last = episode.turn_K.back();
  return last.check->valid && EndedByEnvironment(episode);
}

struct Counts {
  int64_t total = 0, valid = 0, without_action_tokens = 0, answered = 0, right = 0, right_and_valid = 0;
  int64_t lone_groups = 0;  // with fewer than two valid episodes
  std::map<std::string, int64_t> by_reason;
  std::map<std::string, int64_t> by_quality;
  std::vector<double> confidences;
};

void CountEpisode(const EpisodeRecord& episode, const EpisodeCheck& check, bool drops_invalid, Counts* counts) {
  ++counts->total;
  counts->valid += check.is_valid() ? 1 : 0;
  ++counts->by_reason[std::string(grid_navigation::ReasonKind(check.dropout_reason))];
  ++counts->by_quality[std::string(MaskingQualityName(check.quality))];
  const CompletionEpisode& completion = CompletionOf(episode);
  for (const TurnRecord& turn : completion.turn_K) {
    counts->confidences.push_back(grid_navigation::MaskConfidence(turn.check->method));
  }
  const bool is_right = HasAnswered(completion) && completion.turn_K.back().reply->reward > 0;
  counts->answered += HasAnswered(completion) ? 1 : 0;
  counts->right += is_right ? 1 : 0;
  counts->right_and_valid += is_right && check.is_valid() ? 1 : 0;
  if (drops_invalid && !check.is_valid()) return;
  counts->without_action_tokens += NumLearned(episode.decisions) == 0 ? 1 : 0;
}

// Returns the metrics of the checks of the actions; empty where actions are not checked. group_size: number of adjacent
// episodes that are compared with each other.
Metrics ActionMetrics(const StepRecord& record, int64_t group_size, bool drops_invalid) {
  Counts counts;
  int64_t valid_of_group = 0;
  for (size_t n = 0; n < record.episode_N.size(); ++n) {
    const std::optional<EpisodeCheck> check = SummarizeChecks(CompletionOf(record.episode_N[n]));
    if (!check) return {};
    CountEpisode(record.episode_N[n], *check, drops_invalid, &counts);
    valid_of_group += check->is_valid() ? 1 : 0;
    if (static_cast<int64_t>(n + 1) % group_size != 0) continue;
    counts.lone_groups += valid_of_group < 2 ? 1 : 0;
    valid_of_group = 0;
  }
  if (counts.total == 0) return {};
  Metrics metrics = {
      {"episodes/total", static_cast<double>(counts.total)},
      {"episodes/valid", static_cast<double>(counts.valid)},
      {"episodes/dropped", static_cast<double>(drops_invalid ? counts.total - counts.valid : 0)},
      {"episodes/lone_groups", static_cast<double>(counts.lone_groups)},
      {"episodes/without_action_tokens", static_cast<double>(counts.without_action_tokens)},
      {"episodes/success_rate", Share(counts.right_and_valid, counts.valid)},
      {"episodes/answered", Share(counts.answered, counts.total)},
      {"episodes/accuracy_of_answered", Share(counts.right, counts.answered)},
      {"episodes/accuracy_of_all", Share(counts.right, counts.total)},
      {"masking/confidence", Mean(counts.confidences)},
  };
  for (const absl::string_view reason : grid_navigation::kDropoutReasons) {
    metrics.emplace_back(absl::StrCat("episodes/dropout/", reason),
                         static_cast<double>(counts.by_reason[std::string(reason)]));
  }
  for (const MaskingQuality quality :
       {MaskingQuality::kGood, MaskingQuality::kLowConfidence, MaskingQuality::kFallbackUsed}) {
    const std::string name(MaskingQualityName(quality));
    metrics.emplace_back(absl::StrCat("masking/", name), Share(counts.by_quality[name], counts.total));
  }
  return metrics;
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
