#include "pipelines/sweeps/sweep_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/status/check.h"

namespace reprise {
namespace {

double SummaryValue(const MetricSummary& metric, const CompareOptions& compare) {
  switch (compare.summary) {
    case Summary::kLast:
      return metric.last;
    case Summary::kBest:
      return compare.greater_is_better ? metric.greatest : metric.least;
    case Summary::kMean:
      return metric.mean;
    default:
      return metric.tail;
  }
}

Score ScoreOf(const TrialOutcome& outcome, const CompareOptions& compare) {
  if (outcome.status != TrialStatus::kDone) return {};
  std::string name = compare.metric;
  if (name.empty()) name = FindMetric(outcome, "eval_greedy_reward") != nullptr ? "eval_greedy_reward" : "reward";
  const MetricSummary* const metric = FindMetric(outcome, name);
  if (metric == nullptr) return {};
  const double value = SummaryValue(*metric, compare);
  return std::isfinite(value) ? Score{name, value} : Score{name, std::nullopt};
}

std::vector<VariantRow> VariantsOf(const SweepTable& table) {
  std::vector<VariantRow> variants;
  for (size_t i = 0; i < table.plan.trials.size(); ++i) {
    const PlannedTrial& trial = table.plan.trials[i];
    auto row = std::find_if(variants.begin(), variants.end(), [&](const VariantRow& v) { return v.name == trial.arm; });
    if (row == variants.end()) {
      variants.push_back({.name = trial.arm, .problem = trial.problem, .metric = ""});
      row = variants.end() - 1;
    }
    ++row->trials;
    row->failed += table.outcomes[i].status == TrialStatus::kFailed ? 1 : 0;
    const Score& score = table.scores[i];
    if (!score.value) continue;
    row->metric = score.metric;
    const auto at = std::lower_bound(row->seeds.begin(), row->seeds.end(), trial.seed);
    row->scores.insert(row->scores.begin() + (at - row->seeds.begin()), *score.value);
    row->seeds.insert(at, trial.seed);
  }
  for (size_t i = 0; i < variants.size(); ++i) {
    VariantRow& row = variants[i];
    if (row.scores.empty()) continue;
    row.interquartile_mean = InterquartileMean(row.scores);
    row.interval = BootstrapInterval({row.scores}, table.plan.compare.resamples, table.plan.compare.confidence,
                                     static_cast<int64_t>(i),
                                     [](const std::vector<std::vector<double>>& s) { return InterquartileMean(s[0]); });
  }
  return variants;
}

// The scores of the seeds that both have.
std::pair<std::vector<double>, std::vector<double>> SharedScores(const VariantRow& a, const VariantRow& b) {
  std::pair<std::vector<double>, std::vector<double>> shared;
  for (size_t i = 0; i < a.seeds.size(); ++i) {
    const auto found = std::lower_bound(b.seeds.begin(), b.seeds.end(), a.seeds[i]);
    if (found == b.seeds.end() || *found != a.seeds[i]) continue;
    shared.first.push_back(a.scores[i]);
    shared.second.push_back(b.scores[static_cast<size_t>(found - b.seeds.begin())]);
  }
  return shared;
}

Verdict VerdictOf(const Difference& difference, double adjusted_p, const CompareOptions& compare) {
  if (adjusted_p >= 1 - compare.confidence) return Verdict::kUndecided;
  return (difference.value > 0) == compare.greater_is_better ? Verdict::kSecond : Verdict::kFirst;
}

ComparisonRow Compare(const SweepTable& table, size_t first, size_t second, size_t number) {
  const VariantRow &a = table.variants[first], &b = table.variants[second];
  const CompareOptions& options = table.plan.compare;
  const auto [shared_a, shared_b] = SharedScores(a, b);
  ComparisonRow row = {.first = first, .second = second, .paired = {}, .unpaired = {}};
  row.paired = PairedDifference(shared_a, shared_b, options.confidence);
  row.unpaired = UnpairedDifference(a.scores, b.scores, options.confidence);
  const auto improvement = [&](const std::vector<std::vector<double>>& s) {
    return options.greater_is_better ? ProbabilityOfImprovement(s[0], s[1]) : ProbabilityOfImprovement(s[1], s[0]);
  };
  row.improvement = improvement({a.scores, b.scores});
  row.improvement_interval = BootstrapInterval({a.scores, b.scores}, options.resamples, options.confidence,
                                               static_cast<int64_t>(table.variants.size() + number), improvement);
  const auto needed = [&](const Difference& difference, bool is_paired) {
    return SeedsNeeded(row.paired.value, difference.deviation, options.confidence, kPower, is_paired);
  };
  if (shared_a.size() >= 2) {
    row.seeds_paired = needed(row.paired, true);
    // Of the same trials, so that the two numbers differ by the pairing alone.
    const Difference shared = UnpairedDifference(shared_a, shared_b, options.confidence);
    row.shared_deviation = shared.deviation;
    row.seeds_unpaired = needed(shared, false);
  }
  return row;
}

std::vector<ComparisonRow> ComparisonsOf(const SweepTable& table) {
  std::vector<ComparisonRow> rows;
  for (size_t a = 0; a < table.variants.size(); ++a) {
    for (size_t b = a + 1; b < table.variants.size(); ++b) {
      const VariantRow &first = table.variants[a], &second = table.variants[b];
      const bool comparable = first.problem == second.problem && first.metric == second.metric;
      if (!comparable || SharedScores(first, second).first.empty()) continue;
      rows.push_back(Compare(table, a, b, rows.size()));
    }
  }
  std::vector<double> p;
  for (const ComparisonRow& row : rows) p.push_back(row.paired.p);
  const std::vector<double> adjusted = HolmAdjusted(p);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].adjusted_p = adjusted[i];
    rows[i].better = VerdictOf(rows[i].paired, adjusted[i], table.plan.compare);
  }
  return rows;
}

// Of one row of the table of effects, before it is judged.
struct EffectPairs {
  size_t axis;
  std::string first, second, metric, problem;
  std::vector<double> a, b;
};

// The direction in which two values of a key are compared, whichever of them the file names first in a pair of trials:
// a greater number minus a lesser one, otherwise the value of a later trial minus that of an earlier one.
class ValueOrder {
 public:
  ValueOrder(const StoredPlan& plan, size_t axis) {
    for (const PlannedTrial& trial : plan.trials) place_.emplace(trial.settings[axis], place_.size());
  }

  bool IsBefore(const std::string& a, const std::string& b) const {
    double number_a = 0, number_b = 0;
    const bool are_numbers = absl::SimpleAtod(a, &number_a) && absl::SimpleAtod(b, &number_b);
    if (are_numbers && number_a != number_b) return number_a < number_b;
    return place_.at(a) < place_.at(b);
  }

 private:
  std::map<std::string, size_t> place_;  // of a value's first trial among those of the others
};

// What a trial has in common with those that differ only in the axis.
std::string BlockOf(const PlannedTrial& trial, size_t axis, const std::string& metric) {
  std::string block = absl::StrCat(trial.base, "\n", trial.problem, "\n", metric);
  for (size_t k = 0; k < trial.settings.size(); ++k) {
    if (k != axis) absl::StrAppend(&block, "\n", trial.settings[k]);
  }
  return block;
}

// Returns the row for pairs of these two trials, which is added if there is none yet. Other problems have other rows:
// their differences answer another question.
EffectPairs& RowOf(const SweepTable& table, size_t axis, size_t first, size_t second,
                   std::vector<EffectPairs>* effects) {
  const PlannedTrial &a = table.plan.trials[first], &b = table.plan.trials[second];
  const std::string& metric = table.scores[second].metric;
  const auto found = std::find_if(effects->begin(), effects->end(), [&](const EffectPairs& each) {
    return each.axis == axis && each.first == a.settings[axis] && each.second == b.settings[axis] &&
           each.metric == metric && each.problem == b.problem;
  });
  if (found != effects->end()) return *found;
  effects->push_back({axis, a.settings[axis], b.settings[axis], metric, b.problem, {}, {}});
  return effects->back();
}

// Appends the pairs of the axis, in the order of the trials.
void AddPairs(const SweepTable& table, size_t axis, std::vector<EffectPairs>* effects) {
  const ValueOrder order(table.plan, axis);
  std::map<std::string, std::vector<size_t>> trials_of_block;
  for (size_t i = 0; i < table.plan.trials.size(); ++i) {
    if (!table.scores[i].value) continue;
    const std::string block = BlockOf(table.plan.trials[i], axis, table.scores[i].metric);
    for (const size_t other : trials_of_block[block]) {
      const std::string &earlier = table.plan.trials[other].settings[axis],
                        &later = table.plan.trials[i].settings[axis];
      if (earlier == later) continue;
      const bool is_turned = order.IsBefore(later, earlier);
      const size_t first = is_turned ? i : other, second = is_turned ? other : i;
      EffectPairs& row = RowOf(table, axis, first, second, effects);
      row.a.push_back(*table.scores[first].value);
      row.b.push_back(*table.scores[second].value);
    }
    trials_of_block[block].push_back(i);
  }
}

std::vector<EffectRow> EffectsOf(const SweepTable& table) {
  std::vector<EffectPairs> effects;
  for (size_t axis = 0; axis < table.plan.axes.size(); ++axis) {
    if (table.plan.axes[axis] != "run.seed") AddPairs(table, axis, &effects);
  }
  std::vector<EffectRow> rows;
  std::vector<double> p;
  for (const EffectPairs& each : effects) {
    rows.push_back({.key = table.plan.axes[each.axis],
                    .first = each.first,
                    .second = each.second,
                    .metric = each.metric,
                    .problem = each.problem,
                    .paired = PairedDifference(each.a, each.b, table.plan.compare.confidence)});
    p.push_back(rows.back().paired.p);
  }
  const std::vector<double> adjusted = HolmAdjusted(p);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].adjusted_p = adjusted[i];
    rows[i].better = VerdictOf(rows[i].paired, adjusted[i], table.plan.compare);
  }
  return rows;
}

}  // namespace

SweepTable MakeTable(const StoredPlan& plan, std::vector<TrialOutcome> outcomes) {
  CHECK(outcomes.size() == plan.trials.size());
  SweepTable table = {.plan = plan, .outcomes = std::move(outcomes), .scores = {}, .variants = {}};
  for (const TrialOutcome& outcome : table.outcomes) table.scores.push_back(ScoreOf(outcome, plan.compare));
  table.variants = VariantsOf(table);
  table.comparisons = ComparisonsOf(table);
  table.effects = EffectsOf(table);
  return table;
}

}  // namespace reprise
