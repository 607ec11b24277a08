#include "core/testing/all_pairs.h"

#include <cstddef>
#include <set>
#include <tuple>

namespace reprise::testing {
namespace {

using Pair = std::tuple<size_t, int, size_t, int>;  // axis and value, twice

std::set<Pair> PairsOf(const Row& row) {
  std::set<Pair> pairs;
  for (size_t a = 0; a < row.size(); ++a) {
    for (size_t b = a + 1; b < row.size(); ++b) pairs.insert({a, row[a], b, row[b]});
  }
  return pairs;
}

}  // namespace

std::vector<Row> FullProduct(const std::vector<int>& levels) {
  std::vector<Row> rows = {{}};
  for (int count : levels) {
    std::vector<Row> longer;
    for (const Row& row : rows) {
      for (int value = 0; value < count; ++value) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

std::vector<Row> AllPairs(const std::vector<int>& levels) {
  const std::vector<Row> candidates = FullProduct(levels);
  std::set<Pair> covered;
  std::vector<Row> chosen;
  for (;;) {
    size_t most = 0;
    const Row* best = nullptr;
    for (const Row& row : candidates) {
      size_t added = 0;
      for (const Pair& pair : PairsOf(row)) added += covered.contains(pair) ? 0 : 1;
      if (added > most) {
        most = added;
        best = &row;
      }
    }
    if (best == nullptr) return chosen;
    chosen.push_back(*best);
    covered.merge(PairsOf(*best));
  }
}

}  // namespace reprise::testing
