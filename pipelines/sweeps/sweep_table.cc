#include "pipelines/sweeps/sweep_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "core/parallel/activity.h"
#include "core/status/check.h"
#include "pipelines/sweeps/sweep_effects.h"

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

// A trial whose evaluations could score nothing is not compared by its training instead.
bool HasEvaluations(const TrialOutcome& outcome) {
  return std::any_of(outcome.metrics.begin(), outcome.metrics.end(),
                     [](const MetricSummary& metric) { return absl::StartsWith(metric.name, "eval_"); });
}

Score ScoreTrial(const TrialOutcome& outcome, const CompareOptions& compare) {
  if (outcome.status != TrialStatus::kDone) return {};
  std::string name = compare.metric;
  if (name.empty()) name = HasEvaluations(outcome) ? "eval_greedy_reward" : "reward";
  const MetricSummary* const metric = FindMetric(outcome, name);
  if (metric == nullptr) return {name, std::nullopt};
  const double value = SummaryValue(*metric, compare);
  return std::isfinite(value) ? Score{name, value} : Score{name, std::nullopt};
}

// Reports progress and a sign of life.
class Reporter {
 public:
  explicit Reporter(const TableProgress& progress) : progress_(progress) {}

  void operator()(absl::string_view what, size_t done, size_t all) const {
    MarkActivity();
    if (progress_ != nullptr) progress_(what, static_cast<int64_t>(done), static_cast<int64_t>(all));
  }

 private:
  const TableProgress& progress_;
};

std::vector<VariantRow> SummarizeVariants(const SweepTable& table, const Reporter& report) {
  std::vector<VariantRow> variants;
  std::map<std::string, size_t> index_of;
  for (size_t i = 0; i < table.plan.trials.size(); ++i) {
    const PlannedTrial& trial = table.plan.trials[i];
    const auto [known, is_new] = index_of.emplace(trial.arm, variants.size());
    if (is_new) variants.push_back({.name = trial.arm, .problem = trial.problem, .metric = ""});
    VariantRow* const row = &variants[known->second];
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
    report("variant", i + 1, variants.size());
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
    shared.second.push_back(b.scores[found - b.seeds.begin()]);
  }
  return shared;
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

// Two variants to be compared, by index.
using Pair = std::pair<size_t, size_t>;

// The best by the interquartile mean; of equal ones the first.
size_t FindBestVariant(const SweepTable& table, const std::vector<size_t>& group) {
  const auto is_less = [&](size_t a, size_t b) {
    const double of_a = table.variants[a].interquartile_mean, of_b = table.variants[b].interquartile_mean;
    return table.plan.compare.greater_is_better ? of_a < of_b : of_b < of_a;
  };
  return *std::max_element(group.begin(), group.end(), is_less);
}

// Appends the pairs of a problem and metric that are compared; returns the number of those that could be.
int64_t AppendPairs(const SweepTable& table, const std::vector<size_t>& group, std::vector<Pair>* pairs) {
  const auto append = [&](size_t a, size_t b) {
    if (SharedScores(table.variants[a], table.variants[b]).first.empty()) return 0;
    pairs->emplace_back(a, b);
    return 1;
  };
  int64_t appended = 0;
  if (group.size() <= kMostComparedAlike) {
    for (size_t i = 0; i < group.size(); ++i) {
      for (size_t j = i + 1; j < group.size(); ++j) appended += append(group[i], group[j]);
    }
    return appended;
  }
  const size_t best = FindBestVariant(table, group);
  for (const size_t other : group) {
    if (other != best) append(std::min(best, other), std::max(best, other));
  }
  const int64_t size = static_cast<int64_t>(group.size());
  return size * (size - 1) / 2;
}

void SetComparisons(SweepTable* table, const Reporter& report) {
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> groups;  // by problem and metric
  for (size_t v = 0; v < table->variants.size(); ++v) {
    const VariantRow& row = table->variants[v];
    if (!row.scores.empty()) groups[{row.problem, row.metric}].push_back(v);
  }
  std::vector<Pair> pairs;
  for (const auto& [key, group] : groups) table->pairs += AppendPairs(*table, group, &pairs);
  std::sort(pairs.begin(), pairs.end());
  std::vector<double> p;
  for (size_t i = 0; i < pairs.size(); ++i) {
    report("comparison", i + 1, pairs.size());
    table->comparisons.push_back(Compare(*table, pairs[i].first, pairs[i].second, i));
    p.push_back(table->comparisons.back().paired.p);
  }
  const std::vector<double> adjusted = HolmAdjusted(p, table->pairs);
  for (size_t i = 0; i < pairs.size(); ++i) {
    ComparisonRow& row = table->comparisons[i];
    row.adjusted_p = adjusted[i];
    row.better = DecideVerdict(row.paired, adjusted[i], table->plan.compare);
  }
}

// The keys in which the variants of each problem differ; a variant's are those of its first run.
std::vector<KeyRow> ListDifferingKeys(const SweepTable& table) {
  std::map<std::string, const TrialFacts*> facts_of_variant;
  std::map<std::string, const TrialFacts*> first_of_problem;
  std::map<std::string, std::set<std::string>> keys_of_problem;
  for (size_t i = 0; i < table.outcomes.size(); ++i) {
    if (table.outcomes[i].status != TrialStatus::kDone) continue;
    const TrialFacts& facts = table.outcomes[i].facts;
    if (!facts_of_variant.emplace(table.plan.trials[i].arm, &facts).second) continue;
    const std::string& problem = table.plan.trials[i].problem;
    for (std::string& key : DifferingKeys(*first_of_problem.emplace(problem, &facts).first->second, facts)) {
      keys_of_problem[problem].insert(std::move(key));
    }
  }
  std::vector<KeyRow> rows;
  for (size_t v = 0; v < table.variants.size(); ++v) {
    const auto facts = facts_of_variant.find(table.variants[v].name);
    if (facts == facts_of_variant.end()) continue;
    for (const std::string& key : keys_of_problem[table.variants[v].problem]) {
      rows.push_back({v, key, ValueOfKey(*facts->second, key)});
    }
  }
  return rows;
}

}  // namespace

Verdict DecideVerdict(const Difference& difference, double adjusted_p, const CompareOptions& compare) {
  if (adjusted_p >= 1 - compare.confidence) return Verdict::kUndecided;
  return (difference.value > 0) == compare.greater_is_better ? Verdict::kSecond : Verdict::kFirst;
}

SweepTable MakeTable(const StoredPlan& plan, std::vector<TrialOutcome> outcomes, const TableProgress& progress) {
  CHECK(outcomes.size() == plan.trials.size());
  const Reporter report(progress);
  SweepTable table = {.plan = plan, .outcomes = std::move(outcomes), .scores = {}, .variants = {}};
  for (const TrialOutcome& outcome : table.outcomes) table.scores.push_back(ScoreTrial(outcome, plan.compare));
  table.variants = SummarizeVariants(table, report);
  table.keys = ListDifferingKeys(table);
  SetComparisons(&table, report);
  table.effects = ComputeEffects(table);
  return table;
}

}  // namespace reprise
