#include "rl/schedule/minibatches.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/random/draw.h"

namespace reprise::rl {

// Fisher-Yates shuffle, from the last position down.
std::vector<int64_t> ShuffledOrder(int64_t count, uint64_t seed, uint64_t step, int64_t iteration) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t last = order.size(); last-- > 1;) {
    const DrawAt at = {.step = step, .turn = static_cast<uint64_t>(iteration), .token = last};
    std::swap(order[last], order[DrawBelow(seed, Purpose::kMinibatch, at, last + 1)]);
  }
  return order;
}

std::vector<int64_t> BatchSizes(int64_t units, int64_t num_batches, int64_t batch_size) {
  std::vector<int64_t> sizes;
  if (num_batches > 0) {
    sizes.assign(static_cast<size_t>(num_batches), units / num_batches);
    for (int64_t rest = units % num_batches; rest-- > 0;) ++sizes[rest];
    return sizes;
  }
  sizes.assign(static_cast<size_t>(units / batch_size), batch_size);
  if (units % batch_size > 0) sizes.push_back(units % batch_size);
  return sizes;
}

std::vector<std::vector<DecisionSubset>> SplitDecisions(absl::Span<const int64_t> decisions_N,
                                                        const UpdateOptions& options, uint64_t seed, uint64_t step,
                                                        int64_t iteration) {
  const int64_t all = std::accumulate(decisions_N.begin(), decisions_N.end(), int64_t{0});
  if (all == 0) return {};
  const int64_t batches = options.mini_batch_size > 0 ? 0 : std::min(options.num_mini_batches, all);
  const std::vector<int64_t> order = ShuffledOrder(all, seed, step, iteration);
  std::vector<std::vector<DecisionSubset>> dealt;
  auto unit = order.begin();
  for (const int64_t size : BatchSizes(all, batches, options.mini_batch_size)) {
    std::vector<int64_t> places(unit, unit + size);  // of decisions, numbered through all episodes
    unit += size;
    std::sort(places.begin(), places.end());
    std::vector<DecisionSubset>& batch = dealt.emplace_back();
    int64_t first = 0;  // of the episode's decisions
    auto place = places.begin();
    for (size_t n = 0; n < decisions_N.size() && place != places.end(); first += decisions_N[n++]) {
      const auto end = std::lower_bound(place, places.end(), first + decisions_N[n]);
      if (place == end) continue;
      DecisionSubset& episode = batch.emplace_back(DecisionSubset{.episode = static_cast<int64_t>(n), .decisions = {}});
      for (; place != end; ++place) episode.decisions.push_back(*place - first);
    }
  }
  return dealt;
}

}  // namespace reprise::rl
