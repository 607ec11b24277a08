#include "kernels/sampling/sampling.h"

#include <algorithm>

#include "kernels/lm_head/row_statistics.h"
#include "kernels/sampling/weights.h"

namespace reprise::kernels {
namespace {

using internal::kSamplingBlock;

struct Row {
  int64_t vocabulary;
  const float* z;
  float max;
};

int32_t MostProbable(const Row& row) {
  const float* const best = std::find(row.z, row.z + row.vocabulary, row.max);
  return best == row.z + row.vocabulary ? 0 : static_cast<int32_t>(best - row.z);  // not found: the maximum is NaN
}

// C_last of the contract.
double TotalWeight(const std::vector<float>& block_sums) {
  double total = 0;
  for (float sum : block_sums) total += sum;
  return total;
}

// One of n consecutive tokens, given the mass before them.
int64_t DrawWithinBlock(int64_t n, const float* e, double mass, double target) {
  int64_t last_possible = 0;
  for (int64_t v = 0; v < n; ++v) {
    mass += e[v];
    if (mass > target) return v;
    if (e[v] > 0) last_possible = v;
  }
  // The block's sum is rounded to float, so that it can promise more than its tokens hold.
  return last_possible;
}

int32_t DrawFromAll(const Row& row, double uniform, const std::vector<float>& sums) {
  const double target = uniform * TotalWeight(sums);
  double mass = 0;
  size_t block = 0;
  // The total exceeds the target, since uniform < 1: the bound serves NaN only.
  for (; block + 1 < sums.size() && !(mass + sums[block] > target); ++block) mass += sums[block];
  const int64_t first = static_cast<int64_t>(block) * kSamplingBlock;
  const int64_t n = std::min(kSamplingBlock, row.vocabulary - first);
  float e[kSamplingBlock];
  internal::WeightsOfBlock(n, row.z + first, row.max, e);
  return static_cast<int32_t>(first + DrawWithinBlock(n, e, mass, target));
}

int32_t DrawFiltered(const Row& row, const SamplingOptions& options, double uniform, SamplingWorkspace* workspace) {
  int64_t kept = row.vocabulary;
  double mass = 0;
  const bool by_count = options.top_k > 0 && options.top_k < kept;
  if (by_count) {
    kept = options.top_k;
  } else {
    mass = TotalWeight(workspace->block_sums);
  }
  internal::Ranking ranking(row.vocabulary, row.z, row.max, by_count ? kept : 1, &workspace->ranking);
  for (int64_t i = 0; by_count && i < kept; ++i) mass += ranking.Weight(i);
  if (options.top_p < 1.0f) {
    const double enough = options.top_p * mass;
    int64_t i = 0;
    mass = 0;
    do {
      mass += ranking.Weight(i++);
    } while (i < kept && mass < enough);
    kept = i;
  }
  // The same sum over all kept tokens is `mass`, which exceeds the target: the last place serves NaN only.
  const double target = uniform * mass;
  double sum = 0;
  int64_t i = 0;
  while (i + 1 < kept && !((sum += ranking.Weight(i)) > target)) ++i;
  return ranking.Token(i);
}

}  // namespace

SampledToken SampleToken(int64_t vocabulary, float* logits, const SamplingOptions& options, double uniform,
                         SamplingWorkspace* workspace) {
  const bool top_k = options.top_k > 0 && options.top_k < vocabulary;
  float* block_sums = nullptr;
  if (!options.greedy && !top_k) {
    workspace->block_sums.resize(static_cast<size_t>((vocabulary + kSamplingBlock - 1) / kSamplingBlock));
    block_sums = workspace->block_sums.data();
  }
  const RowStatistics statistics = internal::ScanRow(options.temperature, vocabulary, logits, block_sums);
  const Row row = {vocabulary, logits, statistics.max};
  SampledToken sampled;
  if (options.greedy) {
    sampled.token = MostProbable(row);
  } else if (top_k || options.top_p < 1.0f) {
    sampled.token = DrawFiltered(row, options, uniform, workspace);
  } else {
    sampled.token = DrawFromAll(row, uniform, workspace->block_sums);
  }
  sampled.logprob = LogProbability(statistics, logits[sampled.token]);
  sampled.entropy = statistics.entropy;
  return sampled;
}

}  // namespace reprise::kernels
