#include "pipelines/sweeps/sweep_effects.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/parallel/activity.h"

namespace reprise {
namespace {

// Of one row of the table of effects, before it is judged.
struct EffectPairs {
  size_t axis;
  std::string first, second, metric, problem;
  std::vector<double> a, b;
};

// Returns the rank of each value of a key, by which two are compared whichever of them the file names first in a pair
// of trials: numbers in their order, other values in that of their first trials.
std::map<std::string, size_t> RanksOf(const StoredPlan& plan, size_t axis) {
  std::map<std::string, size_t> place;
  for (const PlannedTrial& trial : plan.trials) place.emplace(trial.settings[axis], place.size());
  std::vector<std::tuple<double, size_t, std::string>> order;
  for (const auto& [value, of_first] : place) {
    double number = 0;
    if (!absl::SimpleAtod(value, &number)) number = std::numeric_limits<double>::infinity();
    order.emplace_back(number, of_first, value);
  }
  std::sort(order.begin(), order.end());
  for (size_t rank = 0; rank < order.size(); ++rank) place[std::get<2>(order[rank])] = rank;
  return place;
}

// What a trial has in common with those that differ only in the axis and in what it brings along.
std::string BlockOf(const PlannedTrial& trial, const TrialFacts& facts, size_t axis, const std::string& metric) {
  std::string block = absl::StrCat(trial.base, "\n", trial.problem, "\n", facts.rest, "\n", metric);
  for (size_t k = 0; k < trial.settings.size(); ++k) {
    if (k != axis) absl::StrAppend(&block, "\n", trial.settings[k]);
  }
  return block;
}

// The rows of an axis, by the ranks of the values, metric and problem. Other problems have other rows: their
// differences answer another question.
class EffectRows {
 public:
  EffectRows(const SweepTable& table, size_t axis) : table_(table), axis_(axis) {}

  void Add(size_t first, size_t second, size_t rank_of_first, size_t rank_of_second) {
    const PlannedTrial &a = table_.plan.trials[first], &b = table_.plan.trials[second];
    const std::string& metric = table_.scores[second].metric;
    const auto [row, is_new] =
        index_.emplace(std::tuple(rank_of_first, rank_of_second, metric, b.problem), rows_.size());
    if (is_new) rows_.push_back({axis_, a.settings[axis_], b.settings[axis_], metric, b.problem, {}, {}});
    rows_[row->second].a.push_back(*table_.scores[first].value);
    rows_[row->second].b.push_back(*table_.scores[second].value);
  }

  std::vector<EffectPairs> Take() { return std::move(rows_); }

 private:
  const SweepTable& table_;
  const size_t axis_;
  std::vector<EffectPairs> rows_;
  std::map<std::tuple<size_t, size_t, std::string, std::string>, size_t> index_;
};

// The pairs of the axis, in the order of the trials.
std::vector<EffectPairs> PairsOf(const SweepTable& table, size_t axis) {
  const std::map<std::string, size_t> ranks = RanksOf(table.plan, axis);
  const bool only_next = ranks.size() > kMostComparedAlike;
  EffectRows rows(table, axis);
  std::map<std::string, std::map<size_t, std::vector<size_t>>> trials_of_block;  // by rank
  for (size_t i = 0; i < table.plan.trials.size(); ++i) {
    MarkActivity();
    if (!table.scores[i].value) continue;
    const PlannedTrial& trial = table.plan.trials[i];
    const size_t rank = ranks.at(trial.settings[axis]);
    std::map<size_t, std::vector<size_t>>& block =
        trials_of_block[BlockOf(trial, table.outcomes[i].facts, axis, table.scores[i].metric)];
    std::vector<std::pair<size_t, size_t>> others;  // trial, rank
    const auto take = [&](auto begin, auto end) {
      for (auto of_rank = begin; of_rank != end; ++of_rank) {
        if (of_rank->first == rank) continue;
        for (const size_t other : of_rank->second) others.emplace_back(other, of_rank->first);
      }
    };
    if (only_next) {
      take(block.lower_bound(rank == 0 ? 0 : rank - 1), block.upper_bound(rank + 1));
    } else {
      take(block.begin(), block.end());
    }
    std::sort(others.begin(), others.end());
    for (const auto& [other, rank_of_other] : others) {
      const bool is_turned = rank < rank_of_other;
      rows.Add(is_turned ? i : other, is_turned ? other : i, std::min(rank, rank_of_other),
               std::max(rank, rank_of_other));
    }
    block[rank].push_back(i);
  }
  return rows.Take();
}

}  // namespace

std::vector<EffectRow> EffectsOf(const SweepTable& table) {
  std::vector<EffectRow> rows;
  std::vector<double> p;
  for (size_t axis = 0; axis < table.plan.axes.size(); ++axis) {
    if (table.plan.axes[axis] == "run.seed") continue;
    for (const EffectPairs& each : PairsOf(table, axis)) {
      MarkActivity();
      rows.push_back({.key = table.plan.axes[axis],
                      .first = each.first,
                      .second = each.second,
                      .metric = each.metric,
                      .problem = each.problem,
                      .paired = PairedDifference(each.a, each.b, table.plan.compare.confidence)});
      p.push_back(rows.back().paired.p);
    }
  }
  const std::vector<double> adjusted = HolmAdjusted(p);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].adjusted_p = adjusted[i];
    rows[i].better = VerdictOf(rows[i].paired, adjusted[i], table.plan.compare);
  }
  return rows;
}

}  // namespace reprise
