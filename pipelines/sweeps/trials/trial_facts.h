#ifndef PIPELINES_SWEEPS_TRIALS_TRIAL_FACTS_H_
#define PIPELINES_SWEEPS_TRIALS_TRIAL_FACTS_H_

// What a sweep says of a trial, derived from the configuration that the trial's run stores and from the digests of the
// files that it read: the plan is made of it, and compared with it when a sweep is verified.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/config/literal.h"
#include "data/artifact/format/run_header.h"
#include "rl/config/config.h"
#include "rl/run/early_end.h"

namespace reprise {

struct TrialFacts {
  int64_t seed = 0;
  std::string config_sha256;  // of the configuration's text, hexadecimal
  std::string problem;        // a digest: only trials with the same one can be compared
  std::string identity;       // a digest: of all but run.seed; those of a variant have the same one
  // By key: what was chosen and is neither varied by the axes nor brought along by their names; the value as a literal,
  // or the digest of a path's files.
  std::vector<std::pair<std::string, std::string>> rest = {};
  std::vector<config::Value> values = {};  // by axis
  // By axis: the value as a TOML literal; "" if the trial does not read it, and where a run does not store the value:
  // of a path there is the digest of its files instead, "sha256:" and twelve digits.
  std::vector<std::string> settings = {};
  // The keys that the trial reads and that have another value than their default, run.seed left out, by key: the value
  // as a literal, or the digest of a path's files.
  std::vector<std::pair<std::string, std::string>> keys = {};
  std::vector<bool> is_read = {};  // by the semantic keys, in the order of their names; see Reads
  int64_t steps = 0;               // of training that the run has, unless one of these ends it before
  std::vector<rl::EarlyEnd> ends = {};
};

// `text`: as a run stores it, without paths. DataLoss if it is not such a text. Pure.
absl::StatusOr<TrialFacts> ParseTrialFacts(const std::string& text, absl::Span<const ExternalFile> files,
                                           absl::Span<const std::string> axes);

// Returns the text that a run of the configuration stores. Pure.
std::string StoredText(const rl::Config& config);

// Returns the problem alone.
std::string ParseTrialProblem(const std::string& text, absl::Span<const ExternalFile> files);

// Returns what a setting of a path ends with: " sha256:" and the digest of its files; "" for other keys, and where no
// files are known.
std::string SettingSuffix(absl::string_view axis, absl::Span<const ExternalFile> files);

// Whether a run does not store the value: of a path, and of a preset, whose values are those of its keys.
bool IsWord(absl::string_view axis);

// Returns whether a setting of the plan equals the run's. A path and optimizer.preset, which runs do not store, may have
// any text in the plan.
bool IsSetting(absl::string_view axis, const std::string& planned, const std::string& derived);

// Returns whether the trial reads the key.
bool Reads(const TrialFacts& facts, const std::string& key);

// Returns the value of one of the facts' keys, or its default, as a literal; "" where the trial does not read it.
std::string ValueOfKey(const TrialFacts& facts, const std::string& key);

// Returns the keys that have different values in two trials, ascending.
std::vector<std::string> DifferingKeys(const TrialFacts& a, const TrialFacts& b);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_TRIALS_TRIAL_FACTS_H_
