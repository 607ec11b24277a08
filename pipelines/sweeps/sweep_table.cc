#include "pipelines/sweeps/sweep_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/status/check.h"

namespace reprise {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const MetricSummary* FindMetric(const TrialOutcome& outcome, absl::string_view name) {
  for (const MetricSummary& metric : outcome.metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

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
  if (name.empty()) name = FindMetric(outcome, "eval_greedy_accuracy") != nullptr ? "eval_greedy_accuracy" : "reward";
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
    row.seeds_unpaired = needed(UnpairedDifference(shared_a, shared_b, options.confidence), false);
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
    if (adjusted[i] >= 1 - table.plan.compare.confidence) continue;
    const bool second = (rows[i].paired.value > 0) == table.plan.compare.greater_is_better;
    rows[i].better = second ? Verdict::kSecond : Verdict::kFirst;
  }
  return rows;
}

StreamTable TrialStream(const SweepTable& table) {
  StreamTable rows({"trials",
                    1,
                    {ScalarColumn("trial", DType::kI64), StringColumn("name"), StringColumn("variant"),
                     ScalarColumn("seed", DType::kI64), ScalarColumn("status", DType::kU8), StringColumn("code"),
                     StringColumn("sentence"), ScalarColumn("steps", DType::kI64), StringColumn("run_digest"),
                     StringColumn("metric"), ScalarColumn("score", DType::kF64)}});
  for (size_t i = 0; i < table.outcomes.size(); ++i) {
    const TrialOutcome& outcome = table.outcomes[i];
    rows.AppendI64(0, static_cast<int64_t>(i));
    rows.AppendString(1, table.plan.trials[i].name);
    rows.AppendString(2, table.plan.trials[i].arm);
    rows.AppendI64(3, table.plan.trials[i].seed);
    rows.AppendU8(4, static_cast<uint8_t>(outcome.status));
    rows.AppendString(5, outcome.code);
    rows.AppendString(6, outcome.sentence);
    rows.AppendI64(7, outcome.steps);
    rows.AppendString(8, outcome.run_digest);
    rows.AppendString(9, table.scores[i].metric);
    rows.AppendF64(10, table.scores[i].value.value_or(kNaN));
  }
  return rows;
}

StreamTable SettingStream(const SweepTable& table) {
  StreamTable rows({"settings", 1, {ScalarColumn("trial", DType::kI64), StringColumn("key"), StringColumn("value")}});
  for (size_t i = 0; i < table.plan.trials.size(); ++i) {
    for (size_t k = 0; k < table.plan.axes.size(); ++k) {
      rows.AppendI64(0, static_cast<int64_t>(i));
      rows.AppendString(1, table.plan.axes[k]);
      rows.AppendString(2, table.plan.trials[i].settings[k]);
    }
  }
  return rows;
}

StreamTable MetricStream(const SweepTable& table) {
  std::vector<ColumnSchema> columns = {ScalarColumn("trial", DType::kI64), StringColumn("name"),
                                       ScalarColumn("count", DType::kI64)};
  for (const char* name : {"first", "last", "least", "greatest", "mean", "tail"}) {
    columns.push_back(ScalarColumn(name, DType::kF64));
  }
  StreamTable rows({"metrics", 1, columns});
  for (size_t i = 0; i < table.outcomes.size(); ++i) {
    for (const MetricSummary& metric : table.outcomes[i].metrics) {
      rows.AppendI64(0, static_cast<int64_t>(i));
      rows.AppendString(1, metric.name);
      rows.AppendI64(2, metric.count);
      const double values[] = {metric.first, metric.last, metric.least, metric.greatest, metric.mean, metric.tail};
      for (int k = 0; k < 6; ++k) rows.AppendF64(3 + k, values[k]);
    }
  }
  return rows;
}

StreamTable VariantStream(const SweepTable& table) {
  StreamTable rows(
      {"variants",
       1,
       {StringColumn("name"), StringColumn("problem"), StringColumn("metric"), ScalarColumn("trials", DType::kI64),
        ScalarColumn("failed", DType::kI64), RaggedColumn("seeds", DType::kI64), RaggedColumn("scores", DType::kF64),
        ScalarColumn("interquartile_mean", DType::kF64), FixedColumn("interval", DType::kF64, 2)}});
  for (const VariantRow& row : table.variants) {
    rows.AppendString(0, row.name);
    rows.AppendString(1, row.problem);
    rows.AppendString(2, row.metric);
    rows.AppendI64(3, row.trials);
    rows.AppendI64(4, row.failed);
    rows.AppendRaggedI64(5, row.seeds);
    rows.AppendRaggedF64(6, row.scores);
    const bool has_scores = !row.scores.empty();
    const double interval[] = {has_scores ? row.interval.low : kNaN, has_scores ? row.interval.high : kNaN};
    rows.AppendF64(7, has_scores ? row.interquartile_mean : kNaN);
    rows.AppendFixed(8, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(interval), sizeof(interval)));
  }
  return rows;
}

StreamTable ComparisonStream(const SweepTable& table) {
  std::vector<ColumnSchema> columns = {StringColumn("first"),
                                       StringColumn("second"),
                                       ScalarColumn("better", DType::kU8),
                                       ScalarColumn("pairs", DType::kI64),
                                       ScalarColumn("seeds_paired", DType::kI64),
                                       ScalarColumn("seeds_unpaired", DType::kI64)};
  for (const char* name :
       {"difference", "deviation", "low", "high", "p", "adjusted_p", "unpaired_difference", "unpaired_deviation",
        "unpaired_low", "unpaired_high", "unpaired_p", "improvement", "improvement_low", "improvement_high"}) {
    columns.push_back(ScalarColumn(name, DType::kF64));
  }
  StreamTable rows({"comparisons", 1, columns});
  for (const ComparisonRow& row : table.comparisons) {
    rows.AppendString(0, table.variants[row.first].name);
    rows.AppendString(1, table.variants[row.second].name);
    rows.AppendU8(2, static_cast<uint8_t>(row.better));
    rows.AppendI64(3, row.paired.n);
    rows.AppendI64(4, row.seeds_paired);
    rows.AppendI64(5, row.seeds_unpaired);
    int column = 6;
    for (const double value :
         {row.paired.value, row.paired.deviation, row.paired.interval.low, row.paired.interval.high, row.paired.p,
          row.adjusted_p, row.unpaired.value, row.unpaired.deviation, row.unpaired.interval.low,
          row.unpaired.interval.high, row.unpaired.p, row.improvement, row.improvement_interval.low,
          row.improvement_interval.high}) {
      rows.AppendF64(column++, value);
    }
  }
  return rows;
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string NumberText(double value) { return config::Literal(config::Value(value)); }

}  // namespace

SweepTable MakeTable(const StoredPlan& plan, std::vector<TrialOutcome> outcomes) {
  CHECK(outcomes.size() == plan.trials.size());
  SweepTable table = {.plan = plan, .outcomes = std::move(outcomes), .scores = {}, .variants = {}, .comparisons = {}};
  for (const TrialOutcome& outcome : table.outcomes) table.scores.push_back(ScoreOf(outcome, plan.compare));
  table.variants = VariantsOf(table);
  table.comparisons = ComparisonsOf(table);
  return table;
}

std::vector<StreamTable> StreamsOf(const SweepTable& table) {
  return {ComparisonStream(table), MetricStream(table), SettingStream(table), TrialStream(table), VariantStream(table)};
}

std::string CsvOf(const SweepTable& table) {
  std::set<std::string> metrics;
  for (const TrialOutcome& outcome : table.outcomes) {
    for (const MetricSummary& metric : outcome.metrics) metrics.insert(metric.name);
  }
  std::vector<std::string> line = {"trial", "name", "variant", "seed"};
  for (const std::string& axis : table.plan.axes) line.push_back(axis);
  for (const char* name : {"status", "code", "sentence", "steps", "run_digest", "metric", "score"})
    line.push_back(name);
  for (const std::string& metric : metrics) line.push_back("last/" + metric);
  std::string csv = absl::StrCat(absl::StrJoin(line, ","), "\n");
  constexpr absl::string_view kStatus[] = {"unfinished", "done", "failed"};
  for (size_t i = 0; i < table.outcomes.size(); ++i) {
    const TrialOutcome& outcome = table.outcomes[i];
    const PlannedTrial& trial = table.plan.trials[i];
    const Score& score = table.scores[i];
    line = {absl::StrCat(i), trial.name, trial.arm, absl::StrCat(trial.seed)};
    line.insert(line.end(), trial.settings.begin(), trial.settings.end());
    line.insert(line.end(), {std::string(kStatus[static_cast<size_t>(outcome.status)]), outcome.code, outcome.sentence,
                             absl::StrCat(outcome.steps), outcome.run_digest, score.metric,
                             score.value ? NumberText(*score.value) : ""});
    for (const std::string& metric : metrics) {
      const MetricSummary* const found = FindMetric(outcome, metric);
      line.push_back(found == nullptr ? "" : NumberText(found->last));
    }
    for (std::string& cell : line) cell = Quoted(cell);
    absl::StrAppend(&csv, absl::StrJoin(line, ","), "\n");
  }
  return csv;
}

}  // namespace reprise
