#include "rl/schedule/minibatches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/random/draw.h"
#include "core/status/check.h"

namespace reprise::rl {
namespace {

// Fisher and Yates, from the last place down.
void Shuffle(uint64_t seed, uint64_t step, int64_t iteration, std::vector<int64_t>* order) {
  for (size_t last = order->size(); last-- > 1;) {
    const DrawAt at = {.step = step, .turn = static_cast<uint64_t>(iteration), .token = last};
    std::swap((*order)[last], (*order)[DrawBelow(seed, Purpose::kMinibatch, at, last + 1)]);
  }
}

}  // namespace

std::vector<Minibatch> MinibatchesOf(int64_t num_prompts, const UpdateOptions& options, uint64_t seed, uint64_t step) {
  CHECK_GE(options.num_iterations, 1);
  CHECK_GE(options.num_mini_batches, 1);
  CHECK_GE(num_prompts, options.num_mini_batches);
  const int64_t whole = num_prompts / options.num_mini_batches, rest = num_prompts % options.num_mini_batches;
  std::vector<Minibatch> minibatches;
  for (int64_t iteration = 0; iteration < options.num_iterations; ++iteration) {
    std::vector<int64_t> order(static_cast<size_t>(num_prompts));
    std::iota(order.begin(), order.end(), 0);
    if (options.shuffle && options.num_mini_batches > 1) Shuffle(seed, step, iteration, &order);
    auto begin = order.begin();
    for (int64_t m = 0; m < options.num_mini_batches; ++m) {
      const auto end = begin + whole + (m < rest ? 1 : 0);
      minibatches.push_back({iteration, {begin, end}});
      std::sort(minibatches.back().prompts.begin(), minibatches.back().prompts.end());
      begin = end;
    }
  }
  return minibatches;
}

}  // namespace reprise::rl
