#include "pipelines/sweeps/table_markdown.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "core/status/printable.h"

namespace reprise {
namespace {

constexpr size_t kMostRows = 200;  // of a section that can be long

std::string Number(double value) { return std::isfinite(value) ? absl::StrFormat("%.4g", value) : "-"; }

// "0.1 to 0.3"; without one "-".
std::string IntervalText(const ConfidenceInterval& interval) {
  if (!std::isfinite(interval.low)) return "-";
  return absl::StrCat(Number(interval.low), " to ", Number(interval.high));
}

// Returns `text` as Markdown that shows it, whatever a reply of a process or the name of a file has put there: no HTML,
// link, image, emphasis or further cell. An underscore within a word is none.
std::string Escaped(absl::string_view text) {
  const std::string printable = absl::StrReplaceAll(Printable(text), {{"\\", "\\\\"},
                                                                      {"`", "\\`"},
                                                                      {"*", "\\*"},
                                                                      {"[", "\\["},
                                                                      {"]", "\\]"},
                                                                      {"~", "\\~"},
                                                                      {"|", "\\|"},
                                                                      {"&", "&amp;"},
                                                                      {"<", "&lt;"},
                                                                      {">", "&gt;"},
                                                                      {"://", "&#58;//"},
                                                                      {"www.", "www&#46;"}});
  std::string escaped;
  for (size_t i = 0; i < printable.size(); ++i) {
    const auto is_of_word = [&](size_t at) {
      return at < printable.size() && absl::ascii_isalnum(static_cast<unsigned char>(printable[at]));
    };
    const bool within = is_of_word(i - 1) && is_of_word(i + 1);  // i - 1 of the first is beyond the end
    if (printable[i] == '_' && !within) escaped += '\\';
    escaped += printable[i];
  }
  return escaped;
}

std::string Line(const std::vector<std::string>& cells) {
  std::vector<std::string> escaped;
  for (const std::string& cell : cells) escaped.push_back(Escaped(cell));
  return absl::StrCat("| ", absl::StrJoin(escaped, " | "), " |\n");
}

std::string Heading(const std::vector<std::string>& cells) {
  return absl::StrCat(Line(cells), "|", absl::StrJoin(std::vector<std::string>(cells.size(), "---"), "|"), "|\n");
}

std::string Percent(const SweepTable& table) { return absl::StrFormat("%g%%", 100 * table.plan.compare.confidence); }

// The p below which a difference is decided: "0.05".
std::string Level(const SweepTable& table) {
  return absl::StrFormat("%g", std::round((1 - table.plan.compare.confidence) * 1e6) / 1e6);
}

std::string SeedsText(int64_t seeds) { return seeds == 0 ? "more than 1000000" : absl::StrCat(seeds); }

// The comparisons that are shown, those with the least adjusted p first.
std::vector<const ComparisonRow*> Shown(const SweepTable& table) {
  std::vector<const ComparisonRow*> rows;
  for (const ComparisonRow& row : table.comparisons) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const ComparisonRow* a, const ComparisonRow* b) {
    return a->adjusted_p != b->adjusted_p ? a->adjusted_p < b->adjusted_p : a->paired.p < b->paired.p;
  });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
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

// All effects in their order, or of many those with the least p.
std::vector<const EffectRow*> ShownEffects(const SweepTable& table) {
  std::vector<const EffectRow*> rows;
  for (const EffectRow& row : table.effects) rows.push_back(&row);
  if (rows.size() <= kMostRows) return rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const EffectRow* a, const EffectRow* b) { return a->paired.p < b->paired.p; });
  rows.resize(kMostRows);
  return rows;
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
  const std::vector<const EffectRow*> shown = ShownEffects(table);
  for (const EffectRow* const each : shown) {
    const EffectRow& row = *each;
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
  if (shown.size() < table.effects.size()) {
    absl::StrAppend(&text, "\nShown are ", shown.size(), " of ", table.effects.size(), " effects; sweep.h5 has all.\n");
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

// The value of a key, or what stands for that of one that is not read.
std::string Setting(const std::string& value) { return value.empty() ? "-" : value; }

// A key with a mark if the sweep's file does not vary it.
std::string MarkedKey(const SweepTable& table, const std::string& key) {
  const std::vector<std::string>& axes = table.plan.axes;
  return std::find(axes.begin(), axes.end(), key) == axes.end() ? key + " *" : key;
}

// The keys in which the variants of a problem differ: a row for each variant, or, where there are more keys than
// variants, for each key.
std::string KeysOfProblem(const SweepTable& table, const std::vector<const KeyRow*>& rows) {
  std::vector<std::string> keys = {""}, variants = {""};
  std::map<std::pair<std::string, std::string>, std::string> values;
  for (const KeyRow* const row : rows) {
    const std::string& variant = table.variants[row->variant].name;
    if (variants.back() != variant) variants.push_back(variant);
    if (variants.size() == 2) keys.push_back(row->key);
    values[{row->key, variant}] = row->value;
  }
  const bool by_key = keys.size() > variants.size();
  const auto text_of = [&](const std::string& key) { return MarkedKey(table, key); };
  std::vector<std::string> heading = {by_key ? "key" : "variant"};
  for (size_t i = 1; i < (by_key ? variants : keys).size(); ++i) {
    heading.push_back(by_key ? variants[i] : text_of(keys[i]));
  }
  std::string text = Heading(heading);
  for (size_t i = 1; i < (by_key ? keys : variants).size(); ++i) {
    std::vector<std::string> cells = {by_key ? text_of(keys[i]) : variants[i]};
    for (size_t j = 1; j < (by_key ? variants : keys).size(); ++j) {
      cells.push_back(Setting(by_key ? values[{keys[i], variants[j]}] : values[{keys[j], variants[i]}]));
    }
    absl::StrAppend(&text, Line(cells));
  }
  return text;
}

std::string Keys(const SweepTable& table) {
  std::map<std::string, std::vector<const KeyRow*>> of_problem;
  std::vector<std::string> problems;  // in the order of their first variants
  bool has_mark = false;
  for (const KeyRow& row : table.keys) {
    const std::string& problem = table.variants[row.variant].problem;
    if (of_problem[problem].empty()) problems.push_back(problem);
    of_problem[problem].push_back(&row);
    has_mark = has_mark || MarkedKey(table, row.key) != row.key;
  }
  if (problems.empty()) return "No two variants of one problem differ in a key other than run.seed.\n";
  std::vector<std::string> tables;
  for (const std::string& problem : problems) tables.push_back(KeysOfProblem(table, of_problem[problem]));
  return absl::StrCat(absl::StrJoin(tables, "\n"),
                      has_mark ? "\n\\* The sweep's file does not vary this key: it comes with another one, such as "
                                 "algorithm.name or optimizer.preset, or from another configuration. A difference "
                                 "between such variants may be due to it.\n"
                               : "");
}

std::string Trials(const SweepTable& table) {
  std::vector<std::string> heading = {"trial"};
  heading.insert(heading.end(), table.plan.axes.begin(), table.plan.axes.end());
  heading.insert(heading.end(), {"score", "run digest, or why it failed"});
  std::string text = Heading(heading);
  for (size_t i = 0; i < table.outcomes.size(); ++i) {
    const TrialOutcome& outcome = table.outcomes[i];
    std::vector<std::string> cells = {table.plan.trials[i].name};
    for (const std::string& value : table.plan.trials[i].settings) cells.push_back(Setting(value));
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
  const std::string better = Escaped(table.variants[first ? row.first : row.second].name),
                    other = Escaped(table.variants[first ? row.second : row.first].name);
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
  std::string text = absl::StrCat(
      "With so many seeds, a true difference of this size and spread has a p below ", Level(table),
      " in 80% of cases. That is the p of one comparison alone, without Holm's correction: where several are made, a "
      "decision above needs a smaller one, and more seeds.\n\n");
  text += Heading({"second - first", "difference", "deviation, paired", "deviation, unpaired", "seeds needed, paired",
                   "seeds needed, unpaired"});
  for (const ComparisonRow* row : Shown(table)) {
    if (row->paired.n < 2) continue;
    absl::StrAppend(&text,
                    Line({absl::StrCat(table.variants[row->second].name, " - ", table.variants[row->first].name),
                          Number(row->paired.value), Number(row->paired.deviation), Number(row->shared_deviation),
                          SeedsText(row->seeds_paired), SeedsText(row->seeds_unpaired)}));
  }
  return text;
}

std::string ToMarkdown(const SweepTable& table) {
  int64_t failed = 0;
  for (const TrialOutcome& outcome : table.outcomes) failed += outcome.status == TrialStatus::kFailed ? 1 : 0;
  const int64_t compared = static_cast<int64_t>(table.comparisons.size());
  const std::string with_best =
      compared == table.pairs
          ? ""
          : absl::StrCat(
                " Of more than ", kMostComparedAlike,
                " variants of one problem, each is compared with the best of them alone; the correction is for "
                "all pairs, because the same scores say which is the best.");
  return absl::StrCat(
      "# Sweep\n\n", table.outcomes.size(), " trials, ", failed,
      " failed. Trials that share a seed share their tasks and draws: differences are taken seed by seed, with "
      "Student's intervals, and a difference is decided where its p, after Holm's correction for all comparisons (",
      table.pairs, "), is below ", Level(table), ".", with_best, "\n\n## Comparisons\n\n", Comparisons(table),
      "\n## Seeds needed\n\n", SeedsNeededMarkdown(table),
      "\n## Effects of single keys\n\nOver all pairs of trials that differ in this key alone, and in keys that it "
      "brings "
      "along, whatever their other settings and seeds. The intervals take these pairs as independent. p is corrected "
      "by Holm over all effects (",
      table.effects.size(), ").\n\n", Effects(table), "\n## What the variants differ in\n\n", Keys(table),
      "\n## Variants\n\n", Variants(table), "\n## Trials\n\n", Trials(table));
}

}  // namespace reprise
