#include "pipelines/sweeps/table_markdown.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace reprise {
namespace {

constexpr size_t kMostComparisons = 200;

std::string Number(double value) { return std::isfinite(value) ? absl::StrFormat("%.4g", value) : "-"; }

// "0.1 to 0.3"; without one "-".
std::string IntervalText(const ConfidenceInterval& interval) {
  if (!std::isfinite(interval.low)) return "-";
  return absl::StrCat(Number(interval.low), " to ", Number(interval.high));
}

std::string Line(const std::vector<std::string>& cells) {
  std::vector<std::string> escaped;
  for (const std::string& cell : cells) escaped.push_back(absl::StrReplaceAll(cell, {{"|", "\\|"}, {"\n", " "}}));
  return absl::StrCat("| ", absl::StrJoin(escaped, " | "), " |\n");
}

std::string Heading(const std::vector<std::string>& cells) {
  return absl::StrCat(Line(cells), "|", absl::StrJoin(std::vector<std::string>(cells.size(), "---"), "|"), "|\n");
}

std::string Percent(const SweepTable& table) { return absl::StrFormat("%g%%", 100 * table.plan.compare.confidence); }

std::string SeedsText(int64_t seeds) { return seeds == 0 ? "more than 1000000" : absl::StrCat(seeds); }

// The comparisons that are shown, those with the least adjusted p first.
std::vector<const ComparisonRow*> Shown(const SweepTable& table) {
  std::vector<const ComparisonRow*> rows;
  for (const ComparisonRow& row : table.comparisons) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const ComparisonRow* a, const ComparisonRow* b) {
    return a->adjusted_p != b->adjusted_p ? a->adjusted_p < b->adjusted_p : a->paired.p < b->paired.p;
  });
  if (rows.size() > kMostComparisons) rows.resize(kMostComparisons);
  return rows;
}

std::string Comparisons(const SweepTable& table) {
  if (table.comparisons.empty()) {
    return "No two variants share a seed and a metric, so that none are compared.\n";
  }
  std::string text;
  std::vector<std::string> undecided;
  const std::vector<const ComparisonRow*> rows = Shown(table);
  for (const ComparisonRow* row : rows) {
    if (row->better != Verdict::kUndecided) absl::StrAppend(&text, "- ", VerdictSentence(table, *row), "\n");
    if (row->better == Verdict::kUndecided) undecided.push_back(VerdictSentence(table, *row));
  }
  if (!undecided.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "These seeds can not tell apart:\n\n");
    for (const std::string& sentence : undecided) absl::StrAppend(&text, "- ", sentence, "\n");
  }
  absl::StrAppend(&text, "\n",
                  Heading({"second - first", "difference", Percent(table) + " interval, paired",
                           Percent(table) + " interval, unpaired", "p (Holm)", "P(second better)", "pairs"}));
  for (const ComparisonRow* row : rows) {
    absl::StrAppend(&text,
                    Line({absl::StrCat(table.variants[row->second].name, " - ", table.variants[row->first].name),
                          Number(row->paired.value), IntervalText(row->paired.interval),
                          IntervalText(row->unpaired.interval), Number(row->adjusted_p),
                          absl::StrCat(Number(row->improvement), " (", IntervalText(row->improvement_interval), ")"),
                          absl::StrCat(row->paired.n)}));
  }
  if (rows.size() < table.comparisons.size()) {
    absl::StrAppend(&text, "\nShown are ", rows.size(), " of ", table.comparisons.size(),
                    " comparisons; sweep.h5 has all.\n");
  }
  return text;
}

// The variants of a problem: "words", or "words and 5 more".
std::string VariantsOfProblem(const SweepTable& table, const std::string& problem) {
  std::string text;
  int64_t more = -1;
  for (const VariantRow& row : table.variants) {
    if (row.problem != problem) continue;
    if (text.empty()) text = row.name;
    ++more;
  }
  return more > 0 ? absl::StrCat(text, " and ", more, " more") : text;
}

// If the trials have several problems, the last column of a row names the variants whose problem it is about.
std::string Effects(const SweepTable& table) {
  if (table.effects.empty()) return "No two trials differ in one key other than run.seed.\n";
  const bool has_problems = std::any_of(table.effects.begin(), table.effects.end(),
                                        [&](const EffectRow& row) { return row.problem != table.effects[0].problem; });
  std::vector<std::string> heading = {"key",      "second - first", "difference", Percent(table) + " interval",
                                      "p (Holm)", "pairs",          "better"};
  if (has_problems) heading.push_back("problem of the variants");
  std::string text = Heading(heading);
  for (const EffectRow& row : table.effects) {
    const std::string better = row.better == Verdict::kUndecided ? "undecided"
                               : row.better == Verdict::kFirst   ? row.first
                                                                 : row.second;
    std::vector<std::string> cells = {row.key,
                                      absl::StrCat(row.second, " - ", row.first),
                                      Number(row.paired.value),
                                      IntervalText(row.paired.interval),
                                      Number(row.adjusted_p),
                                      absl::StrCat(row.paired.n),
                                      better};
    if (has_problems) cells.push_back(VariantsOfProblem(table, row.problem));
    absl::StrAppend(&text, Line(cells));
  }
  return text;
}

std::string Variants(const SweepTable& table) {
  std::string text =
      Heading({"variant", "metric", "mean", "interquartile mean", Percent(table) + " interval", "seeds", "failed"});
  for (const VariantRow& row : table.variants) {
    const bool has = !row.scores.empty();
    absl::StrAppend(&text, Line({row.name, row.metric, has ? Number(Mean(row.scores)) : "-",
                                 has ? Number(row.interquartile_mean) : "-", has ? IntervalText(row.interval) : "-",
                                 absl::StrCat(row.scores.size()), absl::StrCat(row.failed)}));
  }
  return text;
}

std::string Trials(const SweepTable& table) {
  std::vector<std::string> heading = {"trial"};
  heading.insert(heading.end(), table.plan.axes.begin(), table.plan.axes.end());
  heading.insert(heading.end(), {"score", "run digest, or why it failed"});
  std::string text = Heading(heading);
  for (size_t i = 0; i < table.outcomes.size(); ++i) {
    const TrialOutcome& outcome = table.outcomes[i];
    std::vector<std::string> cells = {table.plan.trials[i].name};
    for (const std::string& value : table.plan.trials[i].settings) cells.push_back(value);
    cells.push_back(table.scores[i].value ? Number(*table.scores[i].value) : "-");
    cells.push_back(outcome.status == TrialStatus::kFailed ? absl::StrCat(outcome.code, ": ", outcome.sentence)
                                                           : outcome.run_digest.substr(0, 16));
    absl::StrAppend(&text, Line(cells));
  }
  return text;
}

}  // namespace

std::string VerdictSentence(const SweepTable& table, const ComparisonRow& row) {
  const bool first = row.better == Verdict::kFirst;
  const std::string &better = table.variants[first ? row.first : row.second].name,
                    &other = table.variants[first ? row.second : row.first].name;
  // The interval is that of the number before it.
  const ConfidenceInterval& of_row = row.paired.interval;
  const bool turns = row.better != Verdict::kUndecided && row.paired.value < 0;
  const ConfidenceInterval interval = turns ? ConfidenceInterval{-of_row.high, -of_row.low} : of_row;
  const std::string evidence = absl::StrCat(" (", Percent(table), ": ", IntervalText(interval), ", ", row.paired.n,
                                            row.paired.n == 1 ? " seed)" : " seeds)");
  if (row.better == Verdict::kUndecided) {
    return absl::StrCat(better, " - ", other, ": ", Number(row.paired.value), evidence);
  }
  return absl::StrCat(better, " is better than ", other, " by ", Number(std::fabs(row.paired.value)), evidence);
}

std::string SeedsNeededMarkdown(const SweepTable& table) {
  std::string text = Heading({"second - first", "difference", "deviation, paired", "deviation, unpaired",
                              "seeds needed, paired", "seeds needed, unpaired"});
  for (const ComparisonRow* row : Shown(table)) {
    if (row->paired.n < 2) continue;
    absl::StrAppend(&text,
                    Line({absl::StrCat(table.variants[row->second].name, " - ", table.variants[row->first].name),
                          Number(row->paired.value), Number(row->paired.deviation), Number(row->shared_deviation),
                          SeedsText(row->seeds_paired), SeedsText(row->seeds_unpaired)}));
  }
  return text;
}

std::string MarkdownOf(const SweepTable& table) {
  int64_t failed = 0;
  for (const TrialOutcome& outcome : table.outcomes) failed += outcome.status == TrialStatus::kFailed ? 1 : 0;
  return absl::StrCat(
      "# Sweep\n\n", table.outcomes.size(), " trials, ", failed,
      " failed. Trials that share a seed share their tasks and draws: differences are taken seed by seed, with "
      "Student's intervals, and a difference is decided where its p, after Holm's correction for all comparisons (",
      table.comparisons.size(), "), is below ",
      absl::StrFormat("%g", std::round((1 - table.plan.compare.confidence) * 1e6) / 1e6), ".\n\n## Comparisons\n\n",
      Comparisons(table),
      "\n## Seeds needed\n\nSo many seeds decide a difference of this size in 80% of cases, without a correction.\n\n",
      SeedsNeededMarkdown(table),
      "\n## Effects of single keys\n\nOver all pairs of trials that differ in this key alone, whatever their other "
      "settings and seeds. The intervals take these pairs as independent.\n\n",
      Effects(table), "\n## Variants\n\n", Variants(table), "\n## Trials\n\n", Trials(table));
}

}  // namespace reprise
