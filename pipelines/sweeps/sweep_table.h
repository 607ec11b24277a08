#ifndef PIPELINES_SWEEPS_SWEEP_TABLE_H_
#define PIPELINES_SWEEPS_SWEEP_TABLE_H_

// The table of a sweep: its trials, its variants (trials that differ only in run.seed are of one variant), and which
// variants are better than which. A pure function of the plan and of the trials' outcomes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

// Two variants of the same problem and metric that share seeds. Differences are second - first.
struct ComparisonRow {
  size_t first = 0, second = 0;  // indices of variants
  Difference paired, unpaired;   // the first over the shared seeds, the second over all
  double adjusted_p = 1;         // of the paired difference, by Holm over all comparisons
  Verdict better = Verdict::kUndecided;
  double improvement = 0;  // probability that a score of the second is better
  ConfidenceInterval improvement_interval = {};
  int64_t seeds_paired = 0, seeds_unpaired = 0;  // SeedsNeeded for the difference and deviations over the shared seeds
  double shared_deviation = 0;                   // unpaired, of the shared seeds alone
};

// The effect of a key: two of its values, compared over all pairs of trials of a problem that differ in nothing else.
// So runs of other settings, not only of other seeds, tell which value is better. The second value is the greater
// number, or that of the later trial.
struct EffectRow {
  std::string key, first, second;  // values as TOML literals
  std::string metric, problem;
  Difference paired;      // second - first
  double adjusted_p = 1;  // by Holm over all effects
  Verdict better = Verdict::kUndecided;
};

struct SweepTable {
  StoredPlan plan;
  std::vector<TrialOutcome> outcomes;  // by trial
  std::vector<Score> scores;           // by trial
  std::vector<VariantRow> variants;    // in the order of their first trials
  std::vector<ComparisonRow> comparisons = {};
  std::vector<EffectRow> effects = {};  // by key, then in the order of their first pairs of trials
};

// There is one outcome for each trial (checked). Pure.
SweepTable MakeTable(const StoredPlan& plan, std::vector<TrialOutcome> outcomes);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_SWEEP_TABLE_H_
