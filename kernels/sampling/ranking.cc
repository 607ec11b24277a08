#include "kernels/sampling/ranking.h"

#include <algorithm>
#include <bit>

#include "kernels/sampling/weights.h"

namespace reprise::kernels::internal {
namespace {

constexpr int64_t kFewest = 64;  // minimum number of places sorted at a time

// Returns a key that ascends as logits descend: a total order, even with NaNs.
uint32_t KeyOf(float logit) {
  // + 0 makes -0 equal to +0. Flipping makes the bits of floats ascend as unsigned integers; ~ makes them descend.
  const uint32_t bits = std::bit_cast<uint32_t>(logit + 0.0f);
  return ~(bits & 0x80000000u ? ~bits : bits | 0x80000000u);
}

uint64_t KeyOf(float logit, int64_t index) { return uint64_t{KeyOf(logit)} << 32 | static_cast<uint32_t>(index); }

// Returns a key that at least `places` tokens do not exceed, since the maxima of as many blocks do not exceed it.
uint32_t LargestKey(int64_t places, RankingWorkspace& workspace) {
  std::vector<uint64_t>& keys = workspace.keys;
  keys.clear();
  for (const float maximum : workspace.block_maxima) keys.push_back(KeyOf(maximum));
  const auto place = keys.begin() + (places - 1);
  std::nth_element(keys.begin(), place, keys.end());
  return static_cast<uint32_t>(*place);
}

}  // namespace

Ranking::Ranking(int64_t n, const float* z, float max, int64_t places, RankingWorkspace* workspace)
    : n_(n), z_(z), max_(max), workspace_(*workspace) {
  Collect(std::max(places, kFewest));
}

// Collects the keys of the tokens at the first `places` places, and of some or all that follow them, unsorted. With
// NaNs there may be fewer. A key holds the logit's key in its high half and the token in its low half.
void Ranking::Collect(int64_t places) {
  std::vector<uint64_t>& keys = workspace_.keys;
  std::vector<float>& maxima = workspace_.block_maxima;
  sorted_ = 0;
  const int64_t blocks = (n_ + kSamplingBlock - 1) / kSamplingBlock;
  if (blocks < 2 * places) {
    keys.resize(static_cast<size_t>(n_));
    for (int64_t v = 0; v < n_; ++v) keys[v] = KeyOf(z_[v], v);
    return;
  }
  maxima.resize(static_cast<size_t>(blocks));
  MaxByBlock(n_, z_, maxima.data());
  const uint32_t largest = LargestKey(places, workspace_);
  keys.clear();
  for (int64_t b = 0; b < blocks; ++b) {
    if (KeyOf(maxima[b]) > largest) continue;
    const int64_t end = std::min((b + 1) * kSamplingBlock, n_);
    for (int64_t v = b * kSamplingBlock; v < end; ++v) {
      if (KeyOf(z_[v]) <= largest) keys.push_back(KeyOf(z_[v], v));
    }
  }
}

void Ranking::SortUntil(int64_t i) {
  const int64_t wanted = std::max({4 * sorted_, i + 1, kFewest});
  const auto collected = [&] { return static_cast<int64_t>(workspace_.keys.size()); };
  if (i >= collected()) Collect(wanted);
  if (i >= collected()) Collect(n_);
  const int64_t end = std::min(wanted, collected());
  const auto begin = workspace_.keys.begin();
  if (end < collected()) std::nth_element(begin + sorted_, begin + end, workspace_.keys.end());
  std::sort(begin + sorted_, begin + end);

  std::vector<float>& weights = workspace_.weights;
  weights.resize(static_cast<size_t>(end));
  for (int64_t p = sorted_; p < end; ++p) weights[p] = z_[begin[p] & 0xffffffffu];
  for (int64_t p = sorted_; p < end; p += kSamplingBlock) {
    WeightsOfBlock(std::min(kSamplingBlock, end - p), weights.data() + p, max_, weights.data() + p);
  }
  sorted_ = end;
}

}  // namespace reprise::kernels::internal
