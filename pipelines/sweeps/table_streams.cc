#include "pipelines/sweeps/table_streams.h"

#include <cstddef>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"

namespace reprise {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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

StreamTable KeyStream(const SweepTable& table) {
  StreamTable rows({"keys", 1, {StringColumn("variant"), StringColumn("key"), StringColumn("value")}});
  for (const KeyRow& row : table.keys) {
    rows.AppendString(0, table.variants[row.variant].name);
    rows.AppendString(1, row.key);
    rows.AppendString(2, row.value);
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

StreamTable EffectStream(const SweepTable& table) {
  std::vector<ColumnSchema> columns = {StringColumn("key"),
                                       StringColumn("first"),
                                       StringColumn("second"),
                                       StringColumn("metric"),
                                       ScalarColumn("better", DType::kU8),
                                       ScalarColumn("pairs", DType::kI64),
                                       StringColumn("problem")};
  for (const char* name : {"difference", "deviation", "low", "high", "p", "adjusted_p"}) {
    columns.push_back(ScalarColumn(name, DType::kF64));
  }
  StreamTable rows({"effects", 1, columns});
  for (const EffectRow& row : table.effects) {
    rows.AppendString(0, row.key);
    rows.AppendString(1, row.first);
    rows.AppendString(2, row.second);
    rows.AppendString(3, row.metric);
    rows.AppendU8(4, static_cast<uint8_t>(row.better));
    rows.AppendI64(5, row.paired.n);
    rows.AppendString(6, row.problem);
    int column = 7;
    for (const double value : {row.paired.value, row.paired.deviation, row.paired.interval.low,
                               row.paired.interval.high, row.paired.p, row.adjusted_p}) {
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

std::vector<StreamTable> ToStreams(const SweepTable& table) {
  return {ComparisonStream(table), EffectStream(table), KeyStream(table),    MetricStream(table),
          SettingStream(table),    TrialStream(table),  VariantStream(table)};
}

std::string ToCsv(const SweepTable& table) {
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
