#ifndef RL_EVALUATION_SCORES_ANTI_THEATER_H_
#define RL_EVALUATION_SCORES_ANTI_THEATER_H_

// Tests whether thoughts are more than theater: whether they change what the model writes, make it better, and are
// coherent where it is right.
//   divergence    mean over texts of the edit distance between the continuation without thoughts and the one with
//                 thoughts, divided by the longer one's length
//   ablation      mean accuracy with thoughts less mean accuracy without
//   correlation   Pearson's between the coherence of a text's thoughts and the accuracy with them
// Each passes above its threshold. Edge cases that must not look like a result: a text with fewer tokens than a
// continuation needs is left out, and without any other the divergence is missing and does not pass; where either
// series is constant, or has fewer than two points, the correlation is 0 and does not pass; no text at all is an error.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace reprise::rl {

// Returns the least number of insertions, deletions and replacements that make one sequence the other (Levenshtein).
int64_t EditDistance(absl::Span<const int32_t> a, absl::Span<const int32_t> b);

// Returns Pearson's correlation, within [-1, 1]; 0 where a series is constant or has fewer than two numbers. Both have
// the same length (checked). Sums in the fixed tree of kernels/sums. Pure.
double Correlation(absl::Span<const double> x, absl::Span<const double> y);

// What one held-out text showed.
struct ThoughtTrial {
  std::vector<int32_t> without_tokens, with_tokens;  // continuations of the same text
  double without_accuracy = 0, with_accuracy = 0;
  double coherence = 0;  // mean over the text's thoughts

  void ForEachMember(auto visit) {
    visit(without_tokens), visit(with_tokens), visit(without_accuracy), visit(with_accuracy), visit(coherence);
  }
};

struct AntiTheaterOptions {
  double divergence = 0.30, ablation = 0.02, correlation = 0.5;  // thresholds
  int64_t continuation_tokens = 20;  // a text with fewer tokens in a continuation has no divergence

  bool operator==(const AntiTheaterOptions&) const = default;
};

struct AntiTheaterResult {
  std::optional<double> divergence;  // nullopt: no text has long enough continuations
  double ablation = 0, correlation = 0;
  bool divergence_passed = false, ablation_passed = false, correlation_passed = false;
  bool all_passed() const { return divergence_passed && ablation_passed && correlation_passed; }
};

// Tests whether thoughts change predictions, rather than accompany them. InvalidArgument without any trial. Pure.
absl::StatusOr<AntiTheaterResult> TestForTheater(absl::Span<const ThoughtTrial> trials,
                                                 const AntiTheaterOptions& options);

// Returns the results as metrics: anti_theater_divergence (left out where it is missing), anti_theater_ablation,
// anti_theater_correlation, each with ..._passed as 0 or 1, and anti_theater_all_passed; `prefix` precedes each name.
std::vector<std::pair<std::string, double>> AntiTheaterMetrics(const AntiTheaterResult& result,
                                                               const std::string& prefix);

}  // namespace reprise::rl

#endif  // RL_EVALUATION_SCORES_ANTI_THEATER_H_
