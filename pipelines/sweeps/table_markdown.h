#ifndef PIPELINES_SWEEPS_TABLE_MARKDOWN_H_
#define PIPELINES_SWEEPS_TABLE_MARKDOWN_H_

#include <string>

#include "pipelines/sweeps/sweep_table.h"

namespace reprise {

// Returns sweep.md, for people: the comparisons in sentences, the differences that the seeds can not tell apart, how
// many seeds a decision needs paired and unpaired, the variants and the trials. Of very many comparisons it shows those
// with the least adjusted p; sweep.h5 has all. Pure.
std::string ToMarkdown(const SweepTable& table);

// Returns one sentence about a comparison: "rloo is better than grpo by 0.0312 (95%: 0.0101 to 0.0523, 5 seeds)". Pure.
std::string VerdictSentence(const SweepTable& table, const ComparisonRow& row);

// Returns the lines of a Markdown table: for each comparison how many seeds it needs, paired and unpaired. Pure.
std::string SeedsNeededMarkdown(const SweepTable& table);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_TABLE_MARKDOWN_H_
