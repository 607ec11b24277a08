#include "pipelines/sweeps/sweep_effects.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/parallel/activity.h"
#include "pipelines/sweeps/trials/trial_facts.h"

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
std::map<std::string, size_t> RankValues(const StoredPlan& plan, size_t axis) {
  std::map<std::string, size_t> place;
  for (const PlannedTrial& trial : plan.trials) {
    if (!trial.settings[axis].empty()) place.emplace(trial.settings[axis], place.size());
  }
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

// The keys that some trials read, or have chosen, and others not, because of another key: an axis, or one that was
// chosen. Trials of which only one reads such a key do not differ in it: it is brought along by what makes it read.
// Where both read it and one has chosen it they are compared by its value, whether that was chosen or follows from
// other keys; what follows in both is brought along by what differs.
class PartlyRead {
 public:
  explicit PartlyRead(const SweepTable& table) : table_(table) {
    const StoredPlan& plan = table.plan;
    for (size_t k = 0; k < plan.axes.size(); ++k) {
      is_axis_.push_back(std::any_of(plan.trials.begin(), plan.trials.end(),
                                     [&](const PlannedTrial& trial) { return trial.settings[k].empty(); }));
    }
    std::set<std::string> chosen;
    for (const TrialOutcome& outcome : table.outcomes) {
      for (const auto& [key, value] : outcome.facts.rest) chosen.insert(key);
    }
    for (const std::string& key : chosen) {
      const bool is_uneven = std::any_of(table.outcomes.begin(), table.outcomes.end(), [&](const auto& outcome) {
        return outcome.status == TrialStatus::kDone && (!Reads(outcome.facts, key) || !IsChosen(outcome.facts, key));
      });
      if (is_uneven) keys_.insert(key);
    }
    for (const TrialOutcome& outcome : table.outcomes) values_.push_back(ListValues(outcome.facts));
  }

  bool IsAxis(size_t axis) const { return is_axis_[axis]; }
  bool IsKey(const std::string& key) const { return keys_.contains(key); }

  // Whether two trials have the same value of each such key, apart from `axis`, that both read.
  bool AreEqual(size_t a, size_t b, size_t axis) const {
    const PlannedTrial &first = table_.plan.trials[a], &second = table_.plan.trials[b];
    for (size_t k = 0; k < is_axis_.size(); ++k) {
      if (k == axis || !is_axis_[k] || first.settings[k].empty() || second.settings[k].empty()) continue;
      if (first.settings[k] != second.settings[k]) return false;
    }
    for (size_t k = 0; k < keys_.size(); ++k) {
      const auto &of_a = values_[a][k], &of_b = values_[b][k];
      if (!of_a || !of_b || !(of_a->is_chosen || of_b->is_chosen)) continue;
      if (of_a->literal != of_b->literal) return false;
    }
    return true;
  }

 private:
  struct KeyValue {
    std::string literal;
    bool is_chosen;  // otherwise it follows from other keys
  };

  static bool IsChosen(const TrialFacts& facts, const std::string& key) {
    return std::any_of(facts.rest.begin(), facts.rest.end(), [&](const auto& each) { return each.first == key; });
  }

  // By key; nullopt where it is not read.
  std::vector<std::optional<KeyValue>> ListValues(const TrialFacts& facts) const {
    std::vector<std::optional<KeyValue>> values;
    for (const std::string& key : keys_) {
      values.emplace_back();
      if (Reads(facts, key)) values.back() = {ValueOfKey(facts, key), IsChosen(facts, key)};
    }
    return values;
  }

  const SweepTable& table_;
  std::vector<bool> is_axis_;
  std::set<std::string> keys_;                                // that no axis varies
  std::vector<std::vector<std::optional<KeyValue>>> values_;  // by trial, then key
};

// Returns the key of the trials that are compared along the axis: all settings but the axis and those that it implies,
// without keys that some trials do not read.
std::string BlockKey(const SweepTable& table, const PartlyRead& partly_read, size_t i, size_t axis) {
  const PlannedTrial& trial = table.plan.trials[i];
  std::string block = absl::StrCat(trial.base, "\n", trial.problem, "\n", table.scores[i].metric);
  for (const auto& [key, value] : table.outcomes[i].facts.rest) {
    if (!partly_read.IsKey(key)) absl::StrAppend(&block, "\n", key, " ", value);
  }
  for (size_t k = 0; k < trial.settings.size(); ++k) {
    if (k != axis && !partly_read.IsAxis(k)) absl::StrAppend(&block, "\n", trial.settings[k]);
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
std::vector<EffectPairs> FindPairs(const SweepTable& table, const PartlyRead& partly_read, size_t axis) {
  const std::map<std::string, size_t> ranks = RankValues(table.plan, axis);
  const bool only_next = ranks.size() > kMostComparedAlike;
  EffectRows rows(table, axis);
  std::map<std::string, std::map<size_t, std::vector<size_t>>> trials_of_block;  // by rank
  for (size_t i = 0; i < table.plan.trials.size(); ++i) {
    MarkActivity();
    const std::string& setting = table.plan.trials[i].settings[axis];
    if (!table.scores[i].value || setting.empty()) continue;
    const size_t rank = ranks.at(setting);
    std::map<size_t, std::vector<size_t>>& block = trials_of_block[BlockKey(table, partly_read, i, axis)];
    std::vector<std::pair<size_t, size_t>> others;  // trial, rank
    const auto take = [&](auto begin, auto end) {
      for (auto of_rank = begin; of_rank != end; ++of_rank) {
        if (of_rank->first == rank) continue;
        for (const size_t other : of_rank->second) {
          if (partly_read.AreEqual(i, other, axis)) others.emplace_back(other, of_rank->first);
        }
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

std::vector<EffectRow> ComputeEffects(const SweepTable& table) {
  std::vector<EffectRow> rows;
  std::vector<double> p;
  const PartlyRead partly_read(table);
  for (size_t axis = 0; axis < table.plan.axes.size(); ++axis) {
    if (table.plan.axes[axis] == "run.seed") continue;
    for (const EffectPairs& each : FindPairs(table, partly_read, axis)) {
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
    rows[i].better = DecideVerdict(rows[i].paired, adjusted[i], table.plan.compare);
  }
  return rows;
}

}  // namespace reprise
