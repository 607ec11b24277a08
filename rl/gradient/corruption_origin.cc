#include "rl/gradient/corruption_origin.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rl/record/decisions.h"

namespace reprise::rl {
namespace {

std::vector<float> ComputeLogprobs(const Policy& policy, const TaskRecord& task, const EpisodeRecord& episode,
                                   float temperature) {
  std::vector<float> result;
  policy.Score(
      {{&task, {&episode}, {0}}}, temperature,
      [&](int64_t, absl::Span<const float> logprob_T, absl::Span<const float>) {
        result = OnDrawn(episode.decisions, logprob_T);
      },
      policy.NewWorkspace({}, Team()).get());
  return result;
}

// Returns the first difference in bits; a NaN equals the same NaN.
std::string ExplainDifference(absl::string_view name, absl::Span<const float> said_T, absl::Span<const float> again_T) {
  for (size_t t = 0; t < said_T.size() && t < again_T.size(); ++t) {
    if (std::memcmp(&said_T[t], &again_T[t], sizeof(float)) == 0) continue;
    return absl::StrCat(name, ": recomputed, the value of token ", t, " is ", again_T[t], " instead of ", said_T[t]);
  }
  return "";
}

std::string FindOrigin(const OriginSearch& search, const TaskRecord& task, const EpisodeRecord& episode,
                       absl::Span<const float> logprob_T) {
  std::string origin = search.policy.FindCorruption(task, episode);
  if (!origin.empty()) return origin;
  if (search.reference != nullptr) origin = search.reference->FindCorruption(task, episode);
  if (!origin.empty()) return absl::StrCat("the reference model: ", origin);
  const std::vector<float> again_T = ComputeLogprobs(search.policy, task, episode, search.temperature);
  origin = logprob_T.empty() ? "" : ExplainDifference("logprob", OnDrawn(episode.decisions, logprob_T), again_T);
  if (!origin.empty() || !search.samples_are_own) return origin;
  return ExplainDifference("old_logprob", OnDrawn(episode.decisions, episode.logprobs), again_T);
}

}  // namespace

absl::Status WithOrigin(const OriginSearch& search, const TaskRecord& task, const EpisodeRecord& episode,
                        absl::Span<const float> logprob_T, const absl::Status& refusal) {
  return refusal.ok() ? refusal : WithOrigin(refusal, FindOrigin(search, task, episode, logprob_T));
}

absl::Status WithOrigin(const absl::Status& refusal, absl::string_view origin) {
  if (origin.empty()) return refusal;
  return absl::Status(refusal.code(), absl::StrCat(refusal.message(), "; the corruption is in ", origin));
}

}  // namespace reprise::rl
