#include "rl/completions/action_metrics.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "kernels/sums/sums.h"
#include "rl/episodes/action_checks.h"
#include "rl/record/record_turns.h"

namespace reprise::rl {
namespace {

using grid_navigation::EpisodeCheck;
using grid_navigation::MaskingQuality;

double Share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1));
}

double Mean(const std::vector<double>& values) {
  return kernels::TreeSum(values) / static_cast<double>(std::max<size_t>(values.size(), 1));
}

// An action that is valid and ends the episode is an answer.
bool HasAnswered(const EpisodeRecord& episode) {
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
  for (const TurnRecord& turn : episode.turn_K) {
    counts->confidences.push_back(grid_navigation::ConfidenceOf(turn.check->method));
  }
  const bool is_right = HasAnswered(episode) && episode.turn_K.back().reply->reward > 0;
  counts->answered += HasAnswered(episode) ? 1 : 0;
  counts->right += is_right ? 1 : 0;
  counts->right_and_valid += is_right && check.is_valid() ? 1 : 0;
  if (drops_invalid && !check.is_valid()) return;
  counts->without_action_tokens += NumLearned(episode.decisions) == 0 ? 1 : 0;
}

}  // namespace

Metrics ActionMetrics(const StepRecord& record, int64_t group_size, bool drops_invalid) {
  Counts counts;
  int64_t valid_of_group = 0;
  for (size_t n = 0; n < record.episode_N.size(); ++n) {
    const std::optional<EpisodeCheck> check = CheckOf(record.episode_N[n]);
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

}  // namespace reprise::rl
