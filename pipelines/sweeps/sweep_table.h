#ifndef PIPELINES_SWEEPS_SWEEP_TABLE_H_
#define PIPELINES_SWEEPS_SWEEP_TABLE_H_

// The table of a sweep: its trials, its variants (trials that differ only in run.seed are of one variant), and which
// variants are better than which. A pure function of the plan and of the trials' outcomes.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "pipelines/sweeps/comparison/comparison.h"
#include "pipelines/sweeps/stored_plan.h"
#include "pipelines/sweeps/trial_outcome.h"

namespace reprise {

// The share of cases in which SeedsNeeded decides.
inline constexpr double kPower = 0.8;

// What a trial is judged by. Empty without a run, and where its run does not have the metric.
struct Score {
  std::string metric;
  std::optional<double> value;
};

// The scores of one variant.
struct VariantRow {
  std::string name, problem, metric;
  int64_t trials = 0, failed = 0;
  std::vector<int64_t> seeds = {};   // of the trials with a score, ascending
  std::vector<double> scores = {};   // by seed
  double interquartile_mean = 0;     // of the scores, if there are any
  ConfidenceInterval interval = {};  // of the interquartile mean, by bootstrap
};

enum class Verdict : uint8_t { kUndecided, kFirst, kSecond };

// Of more variants of one problem and metric than this not all pairs are compared, and of more values of a key.
inline constexpr size_t kMostComparedAlike = 45;

// Two variants of the same problem and metric that share seeds. All pairs are compared, or, of more than
// kMostComparedAlike variants, each with the best one. Differences are second - first.
struct ComparisonRow {
  size_t first = 0, second = 0;  // indices of variants
  Difference paired, unpaired;   // the first over the shared seeds, the second over all
  double adjusted_p = 1;         // of the paired difference, by Holm over SweepTable::pairs
  Verdict better = Verdict::kUndecided;
  double improvement = 0;  // probability that a score of the second is better
  ConfidenceInterval improvement_interval = {};
  int64_t seeds_paired = 0, seeds_unpaired = 0;  // SeedsNeeded for the difference and deviations over the shared seeds
  double shared_deviation = 0;                   // unpaired, of the shared seeds alone
};

// The effect of a key: two of its values, compared over all pairs of trials of a problem that differ in nothing else.
// So runs of other settings, not only of other seeds, tell which value is better. The second value is the greater
// number, or that of the later trial. Of more than kMostComparedAlike values each is compared with the next one in this
// order.
struct EffectRow {
  std::string key, first, second;  // values as TOML literals
  std::string metric, problem;
  Difference paired;      // second - first
  double adjusted_p = 1;  // by Holm over all effects
  Verdict better = Verdict::kUndecided;
};

// The value of a key in which variants of one problem differ, whether the sweep's file varies it or it comes with
// another key or configuration.
struct KeyRow {
  size_t variant = 0;
  std::string key, value;  // as a TOML literal
};

struct SweepTable {
  StoredPlan plan;
  std::vector<TrialOutcome> outcomes;  // by trial
  std::vector<Score> scores;           // by trial
  std::vector<VariantRow> variants;    // in the order of their first trials
  std::vector<KeyRow> keys = {};       // by variant, then by key; of variants with a run
  std::vector<ComparisonRow> comparisons = {};
  int64_t pairs = 0;  // of variants that could be compared: which one is the best is known from the same scores
  std::vector<EffectRow> effects = {};  // by key, then in the order of their first pairs of trials
};

// Called with what is counted, as "comparison", and how many of how many are done.
using TableProgress = std::function<void(absl::string_view what, int64_t done, int64_t all)>;

// There is one outcome for each trial (checked). `progress` is called if it is not null. Pure but for that, and for
// marks of activity.
SweepTable MakeTable(const StoredPlan& plan, std::vector<TrialOutcome> outcomes,
                     const TableProgress& progress = nullptr);

// Which side of a difference is better.
Verdict DecideVerdict(const Difference& difference, double adjusted_p, const CompareOptions& compare);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_SWEEP_TABLE_H_
